"""The commands that arrange records: the profile, the tree and the sessions.

Each takes the parsed arguments.
"""

from __future__ import annotations

import argparse
from collections import Counter

from ..changes import CHANGE_KINDS, SIDES, Change
from ..errors import InvalidInputError
from ..headings import LANGUAGES, WORDS, language_of
from ..hints import shown
from ..layers.values import LAYERS
from ..people import people_named
from ..system import AnyMemory, MemorySystem
from ..value import day
from ..visible import visible
from .output import Output, counted
from .parser import option
from .stores import opened, optional_user, user_of, writing

# The most people that a note names.
_SHOWN_PEOPLE = 5


def add_profile_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``profile``."""
    option(parser, "--of NAME", "of another person who speaks in the messages")
    option(parser, "--max-tokens N", "maximum length of the text (default: all)")
    option(parser, "--history", "add the earlier values of each fact")
    language = "language of the headings (default: the facts')"
    option(parser, "--language", language, choices=LANGUAGES)


def profile(args: argparse.Namespace, out: Output) -> None:
    """Prints the profile of a user: the facts that were not ended, as Markdown."""
    with opened(args) as memory:
        user = user_of(args, memory)
        found = memory.profile(user, of=args.of, max_tokens=args.max_tokens, language=args.language)
        people: Counter[str] = Counter()
        profiled: list[str] = []
        if not len(found):
            people.update(one.speaker for one in memory.semantic_memories(user) if one.speaker)
            profiled = _profiled(memory, user, people)
    if out.printed_json(found):
        return
    for line in found.to_markdown(history=args.history).splitlines():
        out.line(line)
    left = sum(found.left_out.values())
    more = f", {left} more left out" if left else ""
    out.note(f"{counted(len(found), 'fact')}{more}")
    if not len(found):
        out.note(_nothing_known(args.of, people, profiled))


def _profiled(memory: AnyMemory, user: str, people: Counter[str]) -> list[str]:
    """The people whose profile is not empty, of those who say most."""
    most = people.most_common(2 * _SHOWN_PEOPLE)
    return [name for name, _ in most if len(memory.profile(user, of=name))][:_SHOWN_PEOPLE]


def _nothing_known(of: str | None, people: Counter[str], profiled: list[str]) -> str:
    """Why a profile is empty, and whose is not."""
    meant = people_named(of, people) if of else []
    if len(meant) > 1:
        return f"`{shown(of or '')}` may be {', '.join(meant)}"
    if profiled:
        return f"facts are known of {', '.join(profiled)}: `--of NAME`"
    if people:
        return "no fact belongs in a profile; `episodica facts` lists all"
    return "no facts are known"


def add_changes_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``changes``."""
    option(parser, "--since T", "nothing said later before this time")
    option(parser, "--kind", "only this kind", choices=CHANGE_KINDS)
    option(parser, "--of ID", "only changes of the fact or message with this id")
    option(parser, "--keep", "which words hold, with `--of`", choices=SIDES)


def changes(args: argparse.Namespace, out: Output) -> None:
    """Lists what was said later about the same thing; ``--keep`` decides which words hold."""
    if args.keep and not args.of:
        raise InvalidInputError("`--keep` needs a change", hint="name its fact with `--of ID`")
    with writing(args) if args.keep else opened(args) as memory:
        user = user_of(args, memory)
        found = _changes(memory, user, args)
        if isinstance(memory, MemorySystem):
            for change in found:
                memory.keep_change(user, change, args.keep)
            found = _changes(memory, user, args)
    if out.printed_json(found):
        return
    for change in found:
        kept = f" (kept: {change.kept})" if change.kept else ""
        out.line(f"{day(change.new.timestamp)}  {visible(change.new.content)}{kept}")
        before = WORDS[language_of(side.content for side in change.sides)].earlier
        said = f"{day(change.old.timestamp)}: {visible(change.old.content)}"
        out.line(f"    {before.format(text=said)}")
        out.line(f"    {change.new.memory_id}")
    out.note(counted(len(found), "change"))


def _changes(memory: AnyMemory, user: str, args: argparse.Namespace) -> list[Change]:
    found = memory.changes(user, since=args.since, kind=args.kind)
    return [
        change
        for change in found
        if not args.of
        or any(args.of in (side.memory_id, *side.source_messages) for side in change.sides)
    ]


def add_tree_arguments(parser: argparse.ArgumentParser, layers: bool = False) -> None:
    """The arguments of the commands that take an address."""
    parser.add_argument(
        "uri",
        nargs=None if layers else "?",
        metavar="URI",
        default="cortex://",
        help="an address like `cortex://user/alice/preferences` (default `cortex://`)",
    )
    option(parser, "--user U", "only records of this user")
    if layers:
        layer = "L0 abstract, L1 overview, L2 the whole record (default: by the address)"
        option(parser, "--layer", layer, choices=LAYERS)


def add_explore_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``explore``."""
    parser.add_argument("query", metavar="QUERY", help="the question")
    add_tree_arguments(parser)
    option(parser, "-k --top-k N", "maximum number of hits", default=5)


def ls(args: argparse.Namespace, out: Output) -> None:
    """Lists a folder of the tree."""
    with opened(args) as memory:
        found = memory.ls(args.uri, user_id=optional_user(args, memory))
        if out.printed_list(found):
            return
        rows = (
            (
                f"{entry.name}/" if entry.is_folder else entry.name,
                day(entry.timestamp) if entry.timestamp else "",
                entry.title,
            )
            for entry in found
        )
        out.table(("", "", ""), rows)
        out.note(counted(len(found), "name"))


def tree(args: argparse.Namespace, out: Output) -> None:
    """Draws a folder of the tree and the levels below it."""
    with opened(args) as memory:
        found = memory.tree(args.uri, depth=args.depth, user_id=optional_user(args, memory))
    if not out.printed_json(found):
        for line in str(found).splitlines():
            out.line(out.cut(line, 0))


def read(args: argparse.Namespace, out: Output) -> None:
    """Prints a text of the tree."""
    with opened(args) as memory:
        text = memory.read(args.uri, args.layer, user_id=optional_user(args, memory))
    if not out.printed_json({"uri": args.uri, "layer": args.layer, "text": text}):
        for line in text.splitlines():
            out.line(line)


def explore(args: argparse.Namespace, out: Output) -> None:
    """Prints the way from abstracts to contents."""
    with opened(args) as memory:
        found = memory.explore(
            args.query, args.uri, top_k=args.top_k, user_id=optional_user(args, memory)
        )
    if out.printed_json(found):
        return
    for line in str(found).splitlines():
        out.line(out.cut(line, 0))
    out.note(f"{counted(len(found.steps), 'step')}, {counted(len(found.hits), 'hit')}")


def sessions(args: argparse.Namespace, out: Output) -> None:
    """Lists a user's sessions."""
    with opened(args) as memory:
        found = memory.sessions(user_of(args, memory))
    if out.printed_json(found):
        return
    rows = (
        (one.session_id, one.state, day(one.started_at), one.messages, one.episodes)
        for one in found
    )
    out.table(("session", "state", "began", "messages", "episodes"), rows)
    out.note(counted(len(found), "session"))
