"""The commands of the command line and their arguments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from .. import _native
from ..inputs.facts import ABOUT, FACT_KINDS, IMPORTANCES
from ..inputs.options import DELETED, FORMATS, KINDS, METHODS
from ..inputs.secrets import POLICIES
from ..readers import FORMATS as FILE_FORMATS
from . import (
    agents,
    commands,
    completion,
    databases,
    demo,
    doctor,
    overviews,
    service,
    shelving,
    transfers,
    upkeep,
    views,
    watching,
)
from .output import COLOURS, Output
from .parser import GroupedParser, Parser, option, repeated

Command: TypeAlias = Callable[[argparse.Namespace, Output], int | None]

_FILE = (
    "a file, ZIP archive or folder of an assistant, a coding agent, a messenger or another memory, "
    "messages as JSON or CSV, e-mails, or text with `Name:` on each line; `-` is standard input"
)
_FORMAT = "the format of the file (default: its content tells)"
_PAIRS = "the file's keys or columns: `content=KEY,speaker=KEY,timestamp=KEY`"
_SECRETS = "keys, passwords and card numbers (default mask)"
_AGAIN = "records deleted since: leave them out (default) or add them again"
_EPILOG = """\
data goes to stdout (one JSON document with --json), everything else to stderr.
examples:
  episodica demo
  episodica ingest chat.json --user alice
  episodica search alice "where does she live?"
  episodica context alice "what should I know before the call?" --max-tokens 1000
"""


class CommandLine:
    """The parser, and its arguments that are paths, which shells complete."""

    def __init__(self) -> None:
        self.files: list[argparse.Action] = []
        self.folders: list[argparse.Action] = []
        self.parser = GroupedParser(
            prog="episodica",
            description="Episodic memory for LLM agents: "
            "remembers conversations and finds the right moment again.",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        version = f"episodica {_native.version()}"
        self.parser.add_argument("--version", action="version", version=version)
        self._add_common(self.parser, first=True)
        self._subparsers = self.parser.add_subparsers(
            title="commands", metavar="COMMAND", required=False, parser_class=Parser
        )
        for title, add_commands in (
            ("remember", self._add_writing),
            ("ask", self._add_asking),
            ("look", self._add_listings),
            ("carry", self._add_transfers),
            ("forget", self._add_shelving),
            ("look after the store", self._add_upkeep),
            ("serve", self._add_service),
            ("agents", self._add_agents),
        ):
            before = len(self._subparsers.choices)
            add_commands()
            self.parser.groups.append((title, list(self._subparsers.choices)[before:]))

    def completion(self, shell: str) -> str:
        """The completion script for a shell."""
        return completion.script(shell, self.parser, self.files, self.folders)

    def _add(self, name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        sub = self._subparsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        self._add_common(sub, first=False)
        sub.set_defaults(command=command, parser=sub)
        return sub

    def _add_common(self, parser: argparse.ArgumentParser, first: bool) -> None:
        """Options that may stand before or after the command.

        Only the first parser has defaults: the second parser's would overwrite given values.
        """

        def add(spec: str, text: str, default: object = None, **more: Any) -> argparse.Action:
            return option(
                parser, spec, text, default=default if first else argparse.SUPPRESS, **more
            )

        tenant = os.environ.get("EPISODICA_TENANT") or "default"
        store = add("--store PATH", "the store (default: $EPISODICA_STORE, then `memories`)")
        self.folders.append(store)
        add("--tenant T", "the tenant (default: $EPISODICA_TENANT, then `default`)", tenant)
        zone = (
            "time zone of dates shown, and of times without an offset in chat files, "
            "like `Europe/Paris` (default: the message's, and UTC)"
        )
        add("--timezone ZONE", zone)
        add("--json", "print JSON", False)
        colours = "colours (default auto: on terminals, unless $NO_COLOR is set)"
        add("--color", colours, "auto", choices=COLOURS)

    def _add_writing(self) -> None:
        shown = "remember a sample conversation and answer questions about it"
        sample = self._add("demo", demo.demo, shown)
        self._add_file(sample, "a file to show instead of the sample", nargs="?")
        repeated(sample, "--ask QUESTION", "print the context for a question of your own")
        ingest = self._add("ingest", transfers.ingest, "remember the conversations of a file")
        self._add_file(ingest, _FILE)
        _add_reading(ingest)
        option(ingest, "--dry-run", "add nothing; tell what a language model would cost")
        price = "with `--dry-run`: what a million tokens cost, of prompts and of answers"
        option(ingest, "--price AMOUNT", price, nargs=2, type=float)
        stated = self._add("remember", transfers.state, "remember a fact that is stated directly")
        stated.usage = f"{stated.prog} [options] [USER] FACT"
        fact = (
            "the user, a new one is made, and the fact, `-` for standard input; before a fact in "
            "quotes the user may be left out if the store has only one"
        )
        stated.add_argument("words", nargs="+", metavar="FACT", help=fact)
        option(stated, "-u --user U", "the user; then all words are the fact")
        option(stated, "--kind", "its category (default: the rules tell)", choices=FACT_KINDS)
        option(stated, "--valid-from DATE", "from when on it holds (default: it is not said)")
        option(stated, "--agent A", "the agent that states it", dest="agent_id")
        option(stated, "--subject NAME", "the person or thing (default: the user)")
        option(stated, "--attribute NAME", "such as `home`; a new value ends the former one")
        option(stated, "--value TEXT", "the value of the attribute")
        option(stated, "--metadata JSON", "a JSON object to keep with it")
        option(stated, "--expires-after SECONDS", "for how long searches find it", type=float)

        done = self._add("procedure", transfers.procedure, "remember what an agent did")
        done.add_argument("user_id", metavar="USER", help="the user; a new one is made")
        self._add_file(
            done,
            "messages of a chat with tool calls, or an object with `goal`, `steps` and `outcome`, "
            "as JSON; `-` is standard input",
        )
        option(done, "--goal TEXT", "the task")
        option(done, "--outcome TEXT", "the result")
        result = done.add_mutually_exclusive_group()
        option(result, "--worked", "the goal was reached", default=None)
        option(result, "--failed", "the goal was not reached", dest="worked", action="store_false")
        option(done, "--agent A", "the agent that did it")

    def _add_transfers(self) -> None:
        exported = self._add("export", transfers.export, "write a user's memories to a file")
        exported.usage = f"{exported.prog} [options] [USER] FILE"
        self.files.append(
            exported.add_argument(
                "words",
                nargs="*",
                metavar="FILE",
                help="the user and the file, `.md` for Markdown, anything else for JSONL; the user "
                "may be left out if the store has only one",
            )
        )
        option(exported, "--user U", "the user; then only the file is named")
        self.files.append(option(exported, "-o --output FILE", "the file; then only the user"))
        form = "`tree`: a directory of Markdown files (default: the name tells)"
        option(exported, "--format", form, choices=("jsonl", "markdown", "tree"))
        imported = self._add("import", transfers.import_, "add the memories of an export")
        export = "an export of episodica, or what `ingest` reads; `-` is standard input"
        self._add_file(imported, export)
        _add_reading(imported)
        imported.set_defaults(dry_run=False, price=None)
        backup = self._add("backup", transfers.backup, "copy the store, while others write")
        self.folders.append(
            backup.add_argument("path", metavar="PATH", help="a directory that does not exist yet")
        )

    def _add_file(
        self, parser: argparse.ArgumentParser, text: str, nargs: str | None = None
    ) -> None:
        self.files.append(parser.add_argument("file", nargs=nargs, metavar="FILE", help=text))

    def _add_asking(self) -> None:
        search = self._add("search", commands.search, "find messages, episodes and facts")
        _add_ranking(search, 10)
        option(search, "--explain", "show the terms of each score")
        explain = self._add("explain", views.explain, "show how the best hits got their scores")
        _add_ranking(explain, 2)
        option(explain, "--id ID", "why this record comes, or what leaves it out")
        option(explain, "--max-tokens N", "with --id: of the context", default=2000)
        told = "write the memories for a question that were not given before"
        recalled = self._add("recall", commands.recall, told)
        _add_words(recalled)
        option(recalled, "--max-tokens N", "of the whole conversation", default=4000)
        state = option(recalled, "--state FILE", "keeps the lines given; made if it is missing")
        self.files.append(state)
        context = self._add("context", commands.context, "pack memories into text for a prompt")
        _add_words(context)
        option(context, "--max-tokens N", "maximum length of the text", default=2000)
        option(context, "--format", "form of the text", choices=FORMATS, default="text")
        for asking in (recalled, context):
            _add_filters(asking)
            _add_fact_filters(asking)

    def _add_listings(self) -> None:
        episodes = self._add("episodes", commands.episodes, "list a user's episodes")
        facts = self._add("facts", commands.facts, "list a user's facts")
        option(facts, "--all", "include outdated facts")
        repeated(facts, "--kind", "only this category", choices=FACT_KINDS)
        _add_importance(facts)
        option(facts, "--attribute A", "only this attribute, like `home`")
        messages = self._add("messages", commands.messages, "list a user's messages")
        for listing in (episodes, facts):
            option(listing, "--archived", "include archived and expired records")
        for listing in (messages, episodes, facts):
            _add_user(listing)
            option(listing, "--limit N", "maximum number of rows")
            option(listing, "--newest", "newest first")
            _add_filters(listing)
        over_time = "show a user's episodes over time with their facts"
        timeline = self._add("timeline", views.timeline, over_time)
        _add_user(timeline)
        option(timeline, "--limit N", "only the N newest episodes")
        option(timeline, "--facts N", "maximum number of facts per episode", default=5)
        _add_filters(timeline)
        history = self._add("history", commands.history, "list the versions of a record")
        _add_user(history)
        history.add_argument("id", metavar="ID", help="id or URI of a record")
        known = self._add("profile", overviews.profile, "show the facts about a user")
        _add_user(known)
        overviews.add_profile_arguments(known)
        later = "list later words about the same thing"
        changed = self._add("changes", overviews.changes, later)
        _add_user(changed)
        overviews.add_changes_arguments(changed)
        _add_user(self._add("sessions", overviews.sessions, "list a user's sessions"))
        overviews.add_tree_arguments(self._add("ls", overviews.ls, "list a folder of the tree"))
        drawn = self._add("tree", overviews.tree, "draw a folder of the tree and the levels below")
        overviews.add_tree_arguments(drawn)
        option(drawn, "--depth N", "levels below", default=2)
        read = self._add("read", overviews.read, "print a text of the tree")
        overviews.add_tree_arguments(read, layers=True)
        explored = self._add("explore", overviews.explore, "walk from abstracts to an answer")
        overviews.add_explore_arguments(explored)
        changes = self._add("events", watching.events, "list what happened to records")
        watching.add_events_arguments(changes)
        plot = self._add("plot", upkeep.plot, "draw a chart into a file")
        plot.add_argument("chart", choices=upkeep.CHARTS, help="which chart")
        _add_user(plot)
        option(plot, "--query QUERY", "what to search, for `scores`")
        picture = "the picture; .svg, .png or .pdf (default: the chart's name and .svg)"
        self.files.append(option(plot, "-o --output FILE", picture))

    def _add_shelving(self) -> None:
        of_little_use = "list facts and episodes of little use"
        fading = self._add("forgetting", shelving.forgetting, of_little_use)
        _add_user(fading)
        weaker = "only records weaker than this, 0 to 1 (default 0.05; 1 for any)"
        option(fading, "--strength N", weaker, type=float)
        option(fading, "--older-than DAYS", "minimum age", type=float)
        option(fading, "--unused-for DAYS", "minimum time since the last use", type=float)
        option(fading, "--max-uses N", "maximum number of uses")
        option(fading, "--max-importance X", f"importance at most: {_LABELS}", type=_importance)
        repeated(fading, "--kind", "only this category", choices=FACT_KINDS)
        option(fading, "--exempt", "no facts of this category", action="append", choices=FACT_KINDS)
        option(fading, "--episodes", "episodes as well")
        option(fading, "--agent A", "only this agent")
        option(fading, "--archive", "archive the listed records")
        for name, command, text in (
            ("archive", shelving.archive, "take records out of searches; deletes nothing"),
            ("restore", shelving.restore, "take archived records back into searches"),
        ):
            shelved = self._add(name, command, text)
            shelved.add_argument("user_id", metavar="USER", help="the user")
            ids = "id or URI of an episode or a fact"
            shelved.add_argument("ids", nargs="+", metavar="ID", help=ids)

    def _add_service(self) -> None:
        service.add_serve_arguments(self._add("serve", service.serve, "serve the store over HTTP"))
        looked = "look into the store in a browser, on this machine"
        service.add_ui_arguments(self._add("ui", service.explore, looked))
        keys = self._add("keys", service.list_keys, "make, list and revoke keys of the service")
        for verb in service.add_keys_arguments(keys):
            self._add_common(verb, first=False)

    def _add_agents(self) -> None:
        server = self._add("mcp", agents.serve, "serve a user's memory to agents (MCP)")
        self._add_common(agents.add_arguments(server), first=False)

    def _add_upkeep(self) -> None:
        self._add("users", upkeep.users, "list the users of the store")
        _add_user(self._add("stats", upkeep.stats, "count the records of the store"))
        _add_user(self._add("verify", upkeep.verify, "check every record, index and file"))
        _add_user(self._add("rebuild", upkeep.rebuild, "compute the indexes again"))
        _add_user(self._add("compact", upkeep.compact, "make the logs smaller"))
        for_good = "delete a user, some messages, or one record, for good"
        delete = self._add("delete", upkeep.delete, for_good)
        delete.add_argument("user_id", metavar="USER", help="the user")
        chosen = "a record (default: what the filters choose, else the whole user)"
        delete.add_argument("id", metavar="ID", nargs="?", help=chosen)
        _add_filters(delete)
        _add_fact_kind(delete)
        option(delete, "--yes", "do not ask")
        self._add("doctor", doctor.doctor, "check this installation and the store")
        tables = self._add("store", databases.store, "make, check and share a database's tables")
        for verb in databases.add_store_arguments(tables):
            self._add_common(verb, first=False)
        copied = self._add("copy", databases.copy, "copy a store to or from a database")
        databases.add_copy_arguments(copied)
        self._add("nodes", databases.nodes, "list the processes that write a database")

        def print_completion(args: argparse.Namespace, out: Output) -> None:
            out.line(self.completion(args.shell).rstrip())

        script = "print a script that completes commands and options"
        shells = self._add("completion", print_completion, script)
        shells.add_argument("shell", choices=completion.SHELLS, help="the shell")


def _add_ranking(parser: argparse.ArgumentParser, top_k: int) -> None:
    _add_words(parser)
    option(parser, "-k --top-k --limit N", "maximum number of hits", default=top_k)
    repeated(parser, "--kind", "only this kind", choices=KINDS)
    option(parser, "--method", "how to rank", choices=METHODS, default="hybrid")
    option(parser, "--threshold X", "least relevance, 0 to 1", type=float)
    option(parser, "--all", "include outdated facts")
    _add_filters(parser)
    _add_fact_filters(parser)


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] [USER] QUERY"
    parser.add_argument(
        "words",
        nargs="+",
        metavar="QUERY",
        help="the user and the query, `-` for standard input; the user may be left out if the "
        "store has only one",
    )
    option(parser, "-u --user U", "the user; then all words are the query")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """The options of commands that read a file."""
    option(parser, "-u --user U", "the user, unless the file names its own")
    option(parser, "--me NAME", "which of the chat's people the user is (else a note says it)")
    option(parser, "--format", _FORMAT, choices=FILE_FORMATS)
    option(parser, "--keys PAIRS", _PAIRS, type=transfers.pairs)
    option(parser, "--secrets", _SECRETS, choices=POLICIES)
    option(parser, "--deleted", _AGAIN, choices=DELETED, default="skip")
    option(parser, "--no-flush", "keep the last messages in the buffer")


def _add_user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user_id", nargs="?", metavar="USER")
    option(parser, "--user U", argparse.SUPPRESS)


def _importance(text: str) -> float | str:
    """A number, or a label as it stands."""
    return text if text in IMPORTANCES else float(text)


_LABELS = "0 to 1, or " + ", ".join(IMPORTANCES)


def _add_importance(parser: argparse.ArgumentParser) -> None:
    option(parser, "--about", "only facts about the user, or about agents", choices=ABOUT)
    option(parser, "--min-importance X", f"importance at least: {_LABELS}", type=_importance)


def _add_fact_kind(parser: argparse.ArgumentParser) -> None:
    repeated(parser, "--fact-kind", "only facts of this category", choices=FACT_KINDS)


def _add_fact_filters(parser: argparse.ArgumentParser) -> None:
    _add_fact_kind(parser)
    _add_importance(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    option(parser, "--since DATE", "only from this date or time on")
    option(parser, "--until DATE", "only up to this date or time")
    option(parser, "--session S", "only this session")
    option(parser, "--agent A", "only this agent")
    condition = "only records whose metadata has this value, or a filter as a JSON object"
    repeated(parser, "--where KEY=VALUE", condition)
