"""What transcripts of coding agents share: turns, words that programs insert, repositories.

The words of a person and of the agent, calls of tools and their results are kept. Results are
messages of the tool, so that its output does not pass for speech. Thinking, states of the program
and texts that the program writes in the name of the user are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import text_of
from .conversation import NO_WORDS, Talk, mappings

WRITTEN = "written by the program"
THINKING = "thinking"
TAKEN_BACK = "taken back in the chat"
OF_AGENTS = "a talk of the program with its own agent"
_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_RESULTS = frozenset(("tool_result", "function_call_output", "custom_tool_call_output"))

# The elements in which programs put states, rules, notices and output into the words of a user.
_ELEMENTS = frozenset(
    (
        *("INSTRUCTIONS", "agent-notification", "apps_instructions", "background-task-result"),
        *("bash-input", "bash-stdout", "bash-stderr", "collaboration_mode", "command-contents"),
        *("command-message", "command-name", "context_window", "environment_context"),
        *("environment_details", "git-status", "hook_context", "hook_prompt", "memory_context"),
        *("model_switch", "open_and_recently_viewed_files", "permissions instructions"),
        *("personality_spec", "plugins_instructions", "project_context", "recommended_plugins"),
        *("session_context", "skill", "skills_instructions", "subagent_notification"),
        *("system-notification", "system-reminder", "task-notification", "task_notification"),
        *("teammate-message", "tool_use_error", "turn_aborted", "user-prompt-submit-hook"),
        *("user_info", "user_instructions", "user_shell_command", "workspace_info"),
    )
)
_FAMILIES = ("ide_", "local-command-")
_OPENING = re.compile(r"<(permissions instructions|[A-Za-z][\w-]{1,48})(?: [^<>\n]{0,400})?>")
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]{0,40}\]")
# A head that an editor writes before the words of the user, and the line after it.
_HEADS = ("# Context from my IDE setup", "# Files mentioned by the user", "# Selected text")
_REQUEST = re.compile(r"^## My request for [\w .-]{1,40}:?[ \t]*$", re.MULTILINE)
_RULES = "# AGENTS.md instructions for "
# Worktrees that agents make inside of a repository.
_WORKTREES = re.compile(r"[/\\]\.?(?:claude|codex|cursor)?[/\\]?\.?worktrees[/\\]")
_REMOTE = re.compile(r"([^/:\s]+?)(?:\.git)?/?$")


def without_insertions(text: str, is_programs: bool = False) -> tuple[str, list[str]]:
    """The words of the user in a text, and the names of what programs inserted around them.

    In a text that the program made (``is_programs``), each element that begins a line is its own.
    """
    kept: list[str] = []
    cut: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for found in _OPENING.finditer(text):
        name = found[1]
        begins_line = found.start() == 0 or text[found.start() - 1] == "\n"
        is_inserted = _is_inserted(name) or (is_programs and begins_line)
        if found.start() < at or name in unclosed or not is_inserted:
            continue
        end = text.find(f"</{name}>", found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[at : found.start()])
        cut.append(f"<{name}>")
        at = end + len(name) + len("</>")
    words = "".join((*kept, text[at:]))
    words, interrupted = _INTERRUPTED.subn("", words)
    cut += ["[Request interrupted by user]"] * interrupted
    words = words.strip()
    if words.startswith(_HEADS):
        request = _REQUEST.search(words)
        words, cut = (words[request.end() :].strip() if request else ""), [*cut, "# Context"]
    if (rules := words.find(_RULES)) >= 0:
        words, cut = words[:rules].strip(), [*cut, "# AGENTS.md"]
    return words, cut


def inside(text: str, name: str) -> str | None:
    """The words of the first element of a name in a text; ``None`` without one."""
    opening, closing = f"<{name}>", f"</{name}>"
    begin = text.find(opening)
    end = text.find(closing, begin + len(opening)) if begin >= 0 else -1
    return text[begin + len(opening) : end].strip() if end >= 0 else None


def _is_inserted(name: str) -> bool:
    return name in _ELEMENTS or name.startswith(_FAMILIES)


def repository(directory: object, branch: object = None, remote: object = None) -> dict[str, str]:
    """Where a message was said, as metadata: ``project``, ``branch`` and ``directory``.

    The project is the name of the repository: the last part of its remote address, else the name
    of the directory in which the session began.

    >>> repository("/home/ann/billing", "main")
    {'project': 'billing', 'branch': 'main', 'directory': '/home/ann/billing'}
    >>> repository("/srv/checkout", remote="git@example.org:acme/billing.git")["project"]
    'billing'
    """
    about: dict[str, str] = {}
    named = _REMOTE.search(remote.strip()) if isinstance(remote, str) else None
    where = directory if isinstance(directory, str) and directory.strip() else ""
    project = named[1] if named else _name_of(where)
    if project:
        about["project"] = project
    if isinstance(branch, str) and branch.strip():
        about["branch"] = branch
    if where:
        about["directory"] = where
    return about


def project_after_move(began: Mapping[str, Any], directory: object) -> str | None:
    """The repository of a message that was said in this directory; ``began``: of the first one.

    Inside the first directory and above it, it is the first repository. A folder beside the first
    directory is another one.

    >>> project_after_move(repository("/home/ann/billing"), "/home/ann/billing/src")
    'billing'
    >>> project_after_move(repository("/home/ann/billing"), "/home/ann/shop/src")
    'shop'
    """
    project, first = began.get("project"), began.get("directory")
    if not (isinstance(directory, str) and directory.strip() and first):
        return project or None
    root, here = _path_of(first), _path_of(directory)
    is_same = root in (here, *here.parents) or here in root.parents or project in here.parts
    if is_same:
        return project
    is_beside = root.parent in here.parents
    return (here.parts[len(root.parent.parts)] if is_beside else here.name) or project


def root_of(project: str, directory: str) -> str | None:
    """The folder of a repository in which something was said, if it has the repository's name.

    >>> root_of("billing", "/home/ann/billing/src")
    '/home/ann/billing'
    """
    here = _path_of(directory)
    named = [one for one in (here, *here.parents) if one.name == project]
    return str(named[-1]) if named else None


def _name_of(directory: str) -> str:
    return _path_of(directory).name


def _path_of(directory: str) -> PurePath:
    root = _WORKTREES.split(directory, maxsplit=1)[0]
    return PureWindowsPath(root) if "\\" in root else PurePosixPath(root)


def add_turns(
    talk: Talk, turns: list[dict[str, Any]], about: Mapping[str, Any], line: int = 0
) -> None:
    """Adds what one record says; only the first of several messages has the record's id."""
    if not turns:
        talk.leave(NO_WORDS, line)
    for number, turn in enumerate(turns):
        own = about.get("id")
        given = f"{own}-{number}" if number and own else own
        talk.add({**about, "id": given, **turn}, line)


def turns_of(talk: Talk, role: str, content: object, names: dict[str, str]) -> list[dict[str, Any]]:
    """The messages in the parts of one turn. Each tool result becomes a message of the tool."""
    if isinstance(content, str):
        text = own_words(talk, content) if role == "user" else content
        return [{"role": role, "content": text}] if text.strip() else []
    made: list[dict[str, Any]] = []
    said: list[Any] = []
    for part in mappings(content):
        kind = part.get("type")
        if kind == "tool_use" and isinstance(part.get("id"), str):
            names[part["id"]] = str(part.get("name") or "tool")
        if kind in _RESULTS:
            result = text_of({"role": "tool", "content": [part]})[0]
            if isinstance(result, str) and result.strip():
                name = names.get(str(part.get("tool_use_id")))
                made.append({"role": "tool", "name": name, "content": result})
        elif kind == "text" and isinstance(part.get("text"), str):
            text = part["text"]
            said.append({**part, "text": own_words(talk, text) if role == "user" else text})
        elif kind in _THOUGHTS:
            talk.cut(THINKING)
        else:
            try:
                text_of({"role": role, "content": [part]})
                said.append(part)
            except InvalidInputError as error:
                talk.cut(error.message)
    words = text_of({"role": role, "content": said})[0] if said else None
    if isinstance(words, str) and words.strip():
        made.append({"role": role, "content": words.strip() if role == "user" else words})
    return made


def own_words(talk: Talk, text: str, is_programs: bool = False) -> str:
    """The words of the user in a text; counts what programs inserted around them."""
    words, cut = without_insertions(text, is_programs)
    for name in cut:
        talk.cut(f"{WRITTEN}: `{name}`")
    return words


class Once:
    """Messages that a file writes in several ways, each taken once.

    A text of one way is known if another way has told it more often so far.
    """

    def __init__(self) -> None:
        self._told: dict[str, Counter[tuple[str, str]]] = {}
        self._taken: Counter[tuple[str, str]] = Counter()

    def is_new(self, way: str, role: str, text: str) -> bool:
        """Notes that a way tells a text; whether no other way has told it before."""
        told = self._told.setdefault(way, Counter())
        key = role, " ".join(text.split())
        told[key] += 1
        if told[key] <= self._taken[key]:
            return False
        self._taken[key] += 1
        return True


def texts_of(blocks: object) -> str:
    """The texts of blocks that spell the type of text in any way."""
    held = (one.get("text") for one in mappings(blocks))
    return "\n".join(text for text in held if isinstance(text, str) and text.strip())
