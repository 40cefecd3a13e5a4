"""The commands of the command line and their arguments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeAlias

from .. import _native
from ..inputs.facts import ABOUT, FACT_KINDS, IMPORTANCES
from ..inputs.options import FORMATS, KINDS, METHODS
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
from .parser import GroupedParser, Parser

Command: TypeAlias = Callable[[argparse.Namespace, Output], int | None]

_FILE = (
    "an export of an assistant, a coding agent, a messenger or another memory (also as a ZIP "
    "archive or folder), messages of chat APIs as JSON or JSONL, CSV, e-mails, or text with "
    "`Name:` on each line; `-` is standard input"
)
_FORMAT = "the format of the file (default: its content tells)"
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
        sub.set_defaults(command=command)
        return sub

    def _add_common(self, parser: argparse.ArgumentParser, first: bool) -> None:
        """Options that may stand before or after the command.

        Only the first parser has defaults: the second parser's would overwrite given values.
        """

        def default(value: object) -> object:
            return value if first else argparse.SUPPRESS

        tenant = os.environ.get("EPISODICA_TENANT") or "default"
        self.folders.append(
            parser.add_argument(
                "--store",
                metavar="PATH",
                default=default(None),
                help="the store (default: $EPISODICA_STORE, then `memories`)",
            )
        )
        parser.add_argument(
            "--tenant",
            metavar="T",
            default=default(tenant),
            help="the tenant (default: $EPISODICA_TENANT, then `default`)",
        )
        parser.add_argument(
            "--timezone",
            metavar="ZONE",
            default=default(None),
            help="time zone of dates, like `Europe/Paris` (default: the message's)",
        )
        parser.add_argument(
            "--json", action="store_true", default=default(False), help="print JSON"
        )
        parser.add_argument(
            "--color",
            choices=COLOURS,
            default=default("auto"),
            help="colours (default auto: on terminals, unless $NO_COLOR is set)",
        )

    def _add_writing(self) -> None:
        sample = self._add(
            "demo", demo.demo, "remember a sample conversation and answer questions about it"
        )
        self._add_file(sample, "a file to show instead of the sample", nargs="?")
        ingest = self._add("ingest", transfers.ingest, "remember the conversations of a file")
        self._add_file(ingest, _FILE)
        ingest.add_argument(
            "-u", "--user", metavar="U", help="the user, unless the file names its own"
        )
        ingest.add_argument("--format", choices=FILE_FORMATS, help=_FORMAT)
        ingest.add_argument(
            "--no-flush", action="store_true", help="keep the last messages in the buffer"
        )
        stated = self._add("remember", transfers.state, "remember a fact that is stated directly")
        stated.add_argument("user_id", metavar="USER", help="the user; a new one is made")
        stated.add_argument(
            "words", nargs="+", metavar="FACT", help="the fact, in words; `-` is standard input"
        )
        stated.add_argument(
            "--kind", choices=FACT_KINDS, help="its category (default: the rules tell)"
        )
        stated.add_argument(
            "--valid-from", metavar="DATE", help="from when on it held (default now)"
        )
        stated.add_argument("--agent", metavar="A", help="the agent that states it")
        stated.add_argument("--metadata", metavar="JSON", help="a JSON object to keep with it")
        stated.add_argument(
            "--expires-after", type=float, metavar="SECONDS", help="for how long searches find it"
        )

        done = self._add("procedure", transfers.procedure, "remember what an agent did")
        done.add_argument("user_id", metavar="USER", help="the user; a new one is made")
        self._add_file(
            done,
            "messages of a chat with tool calls, or an object with `goal`, `steps` and `outcome`, "
            "as JSON; `-` is standard input",
        )
        done.add_argument("--goal", metavar="TEXT", help="the task")
        done.add_argument("--outcome", metavar="TEXT", help="the result")
        result = done.add_mutually_exclusive_group()
        result.add_argument(
            "--worked", action="store_true", default=None, help="the goal was reached"
        )
        result.add_argument(
            "--failed", dest="worked", action="store_false", help="the goal was not reached"
        )
        done.add_argument("--agent", metavar="A", help="the agent that did it")

    def _add_transfers(self) -> None:
        exported = self._add("export", transfers.export, "write a user's memories to a file")
        exported.usage = f"{exported.prog} [options] [USER] FILE"
        self.files.append(
            exported.add_argument(
                "words",
                nargs="+",
                metavar="FILE",
                help="the user and the file, `.md` for Markdown, anything else for JSONL; the user "
                "may be left out if the store has only one",
            )
        )
        exported.add_argument("--user", metavar="U", help="the user; then only the file is named")
        exported.add_argument(
            "--format",
            choices=("jsonl", "markdown", "tree"),
            help="`tree`: a directory of Markdown files (default: the name tells)",
        )
        imported = self._add("import", transfers.import_, "add the memories of an export")
        self._add_file(imported, f"an export of episodica, or {_FILE}")
        imported.add_argument(
            "-u", "--user", metavar="U", help="the user, unless the file names it"
        )
        imported.add_argument("--format", choices=FILE_FORMATS, help=_FORMAT)
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
        service.add_rerank_arguments(search)
        search.add_argument("--explain", action="store_true", help="show the terms of each score")
        explain = self._add("explain", views.explain, "show how the best hits got their scores")
        _add_ranking(explain, 2)
        context = self._add("context", commands.context, "pack memories into text for a prompt")
        _add_words(context)
        context.add_argument(
            "--max-tokens",
            type=int,
            default=2000,
            metavar="N",
            help="maximum length of the text (default 2000)",
        )
        context.add_argument(
            "--format", choices=FORMATS, default="text", help="form of the text (default text)"
        )
        _add_filters(context)
        _add_fact_filters(context)

    def _add_listings(self) -> None:
        episodes = self._add("episodes", commands.episodes, "list a user's episodes")
        facts = self._add("facts", commands.facts, "list a user's facts")
        facts.add_argument("--all", action="store_true", help="include outdated facts")
        facts.add_argument(
            "--kind",
            action="append",
            choices=FACT_KINDS,
            help="only this category; may be repeated",
        )
        _add_importance(facts)
        facts.add_argument("--attribute", metavar="A", help="only this attribute, like `home`")
        messages = self._add("messages", commands.messages, "list a user's messages")
        for listing in (episodes, facts):
            listing.add_argument(
                "--archived", action="store_true", help="include what was archived or has expired"
            )
        for listing in (messages, episodes, facts):
            _add_user(listing)
            listing.add_argument("--limit", type=int, metavar="N", help="maximum number of rows")
            listing.add_argument("--newest", action="store_true", help="newest first")
            _add_filters(listing)
        timeline = self._add(
            "timeline", views.timeline, "show a user's episodes over time with their facts"
        )
        _add_user(timeline)
        timeline.add_argument("--limit", type=int, metavar="N", help="only the N newest episodes")
        timeline.add_argument(
            "--facts",
            type=int,
            default=5,
            metavar="N",
            help="maximum number of facts per episode (default 5)",
        )
        _add_filters(timeline)
        history = self._add("history", commands.history, "list the versions of a record")
        _add_user(history)
        history.add_argument("id", metavar="ID", help="id or URI of an episode or a fact")
        known = self._add("profile", overviews.profile, "show what is known of a user now")
        _add_user(known)
        overviews.add_profile_arguments(known)
        _add_user(self._add("sessions", overviews.sessions, "list a user's sessions"))
        overviews.add_tree_arguments(self._add("ls", overviews.ls, "list a folder of the tree"))
        drawn = self._add("tree", overviews.tree, "draw a folder of the tree and the levels below")
        overviews.add_tree_arguments(drawn)
        drawn.add_argument(
            "--depth", type=int, default=2, metavar="N", help="levels below (default 2)"
        )
        overviews.add_tree_arguments(
            self._add("read", overviews.read, "print a text of the tree"), layers=True
        )
        overviews.add_explore_arguments(
            self._add("explore", overviews.explore, "walk from abstracts to an answer")
        )
        changes = self._add("events", watching.events, "list what happened to records")
        watching.add_events_arguments(changes)
        plot = self._add("plot", upkeep.plot, "draw a chart into a file")
        plot.add_argument("chart", choices=upkeep.CHARTS, help="which chart")
        _add_user(plot)
        plot.add_argument("--query", metavar="QUERY", help="what to search, for `scores`")
        self.files.append(
            plot.add_argument(
                "-o",
                "--output",
                metavar="FILE",
                help="the picture; .svg, .png or .pdf (default: the chart's name and .svg)",
            )
        )

    def _add_shelving(self) -> None:
        fading = self._add(
            "forgetting", shelving.forgetting, "list facts and episodes of little use"
        )
        _add_user(fading)
        for name, kind, text in (
            ("strength", float, "only records weaker than this, 0 to 1 (default 0.05; 1 for any)"),
            ("older-than", float, "minimum age in days"),
            ("unused-for", float, "minimum days since the last use"),
            ("max-uses", int, "maximum number of uses"),
        ):
            fading.add_argument(f"--{name}", type=kind, metavar="N", help=text)
        fading.add_argument(
            "--max-importance", type=_importance, metavar="X", help=f"importance at most: {_LABELS}"
        )
        fading.add_argument(
            "--kind",
            action="append",
            choices=FACT_KINDS,
            help="only this category; may be repeated",
        )
        fading.add_argument(
            "--exempt", action="append", choices=FACT_KINDS, help="no facts of this category"
        )
        fading.add_argument("--episodes", action="store_true", help="episodes as well")
        fading.add_argument("--agent", metavar="A", help="only this agent")
        fading.add_argument("--archive", action="store_true", help="archive what is listed")
        for name, command, text in (
            ("archive", shelving.archive, "take records out of searches; deletes nothing"),
            ("restore", shelving.restore, "take archived records back into searches"),
        ):
            shelved = self._add(name, command, text)
            shelved.add_argument("user_id", metavar="USER", help="the user")
            shelved.add_argument(
                "ids", nargs="+", metavar="ID", help="id or URI of an episode or a fact"
            )

    def _add_service(self) -> None:
        service.add_serve_arguments(self._add("serve", service.serve, "serve the store over HTTP"))
        service.add_ui_arguments(
            self._add("ui", service.explore, "look into the store in a browser, on this machine")
        )
        keys = self._add("keys", service.list_keys, "make, list and revoke keys of the service")
        for verb in service.add_keys_arguments(keys):
            self._add_common(verb, first=False)

    def _add_agents(self) -> None:
        server = self._add("mcp", agents.serve, "serve a user's memory to agents (MCP)")
        install, file = agents.add_arguments(server)
        self._add_common(install, first=False)
        self.files.append(file)

    def _add_upkeep(self) -> None:
        self._add("users", upkeep.users, "list the users of the store")
        _add_user(self._add("stats", upkeep.stats, "count the records of the store"))
        _add_user(self._add("verify", upkeep.verify, "check every record, index and file"))
        _add_user(self._add("rebuild", upkeep.rebuild, "compute the indexes again"))
        _add_user(self._add("compact", upkeep.compact, "make the logs smaller"))
        delete = self._add(
            "delete", upkeep.delete, "delete a user, some messages, or one record, for good"
        )
        delete.add_argument("user_id", metavar="USER", help="the user")
        delete.add_argument(
            "id",
            metavar="ID",
            nargs="?",
            help="a record (default: what the filters choose, else the whole user)",
        )
        _add_filters(delete)
        _add_fact_kind(delete)
        delete.add_argument("--yes", action="store_true", help="do not ask")
        self._add("doctor", doctor.doctor, "check this installation and the store")
        tables = self._add("store", databases.store, "make, check and share a database's tables")
        for verb in databases.add_store_arguments(tables):
            self._add_common(verb, first=False)
        databases.add_copy_arguments(
            self._add("copy", databases.copy, "copy a store to or from a database")
        )
        self._add("nodes", databases.nodes, "list the processes that write a database")

        def print_completion(args: argparse.Namespace, out: Output) -> None:
            out.line(self.completion(args.shell).rstrip())

        shells = self._add(
            "completion", print_completion, "print a script that completes commands and options"
        )
        shells.add_argument("shell", choices=completion.SHELLS, help="the shell")


def _add_ranking(parser: argparse.ArgumentParser, top_k: int) -> None:
    _add_words(parser)
    parser.add_argument(
        "-k",
        "--top-k",
        "--limit",
        type=int,
        default=top_k,
        metavar="N",
        help=f"maximum number of hits (default {top_k})",
    )
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="only this kind; may be repeated"
    )
    parser.add_argument(
        "--method", choices=METHODS, default="hybrid", help="how to rank (default hybrid)"
    )
    parser.add_argument("--threshold", type=float, metavar="X", help="least relevance, 0 to 1")
    parser.add_argument("--all", action="store_true", help="include outdated facts")
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
    parser.add_argument("-u", "--user", metavar="U", help="the user; then all words are the query")


def _add_user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user_id", nargs="?", metavar="USER")
    parser.add_argument("--user", metavar="U", help=argparse.SUPPRESS)


def _importance(text: str) -> float | str:
    """A number, or a label as it stands."""
    return text if text in IMPORTANCES else float(text)


_LABELS = "0 to 1, or " + ", ".join(IMPORTANCES)


def _add_importance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--about", choices=ABOUT, help="only facts about the user, or about agents")
    parser.add_argument(
        "--min-importance", type=_importance, metavar="X", help=f"importance at least: {_LABELS}"
    )


def _add_fact_kind(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fact-kind",
        action="append",
        choices=FACT_KINDS,
        help="only facts of this category; may be repeated",
    )


def _add_fact_filters(parser: argparse.ArgumentParser) -> None:
    _add_fact_kind(parser)
    _add_importance(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", metavar="DATE", help="only from this date or time on")
    parser.add_argument("--until", metavar="DATE", help="only up to this date or time")
    parser.add_argument("--session", metavar="S", help="only this session")
    parser.add_argument("--agent", metavar="A", help="only this agent")
    parser.add_argument(
        "--where",
        action="append",
        metavar="KEY=VALUE",
        help="only records whose metadata has this value, or a filter as a JSON object; "
        "may be repeated",
    )
