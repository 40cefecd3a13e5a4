"""The log of deletions and changes of keys, next to the keys: JSON lines, never a text.

Users are named by the same hash as in the access log; ids are only counted.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

from ..reports import DeleteReport
from .telemetry.naming import hashed

_LOG = logging.getLogger("episodica.server")
_KEYS = ".keys.json"
# The caller of changes by the command line, which needs no key.
COMMAND_LINE = "command line"


class Audit:
    """The log of deletions and of changes of keys: ``STORE.audit.jsonl`` next to the keys."""

    def __init__(self, keys_path: Path, needs_keys: bool = False) -> None:
        self._keys_path = keys_path
        self._needs_keys = needs_keys
        self.path = keys_path.with_name(f"{keys_path.name.removesuffix(_KEYS)}.audit.jsonl")

    def deleted(self, who: str, tenant: str, user: str, what: str, report: DeleteReport) -> None:
        """Notes a deletion: its request, and its counts."""
        if self._needs_keys and not self._keys_path.exists():
            return
        self._write(
            "delete",
            who,
            tenant=tenant,
            user=hashed(tenant, user),
            what=what,
            messages=report.messages,
            episodes=report.episodes,
            facts=report.semantic_memories,
        )

    def key(self, event: str, id: str, tenant: str) -> None:
        """Notes that a key was made or revoked."""
        self._write(event, COMMAND_LINE, tenant=tenant, key=id)

    def _write(self, event: str, who: str, **more: object) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "event": event, "who": who, **more}) + "\n"
        try:
            # One write, so that lines of several processes don't mix.
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError as error:
            # The deletion is done, so it goes to the log on standard error.
            _LOG.warning("cannot write the audit log: %s: %s", error.strerror, line.rstrip())
