"""The settings of the service: arguments, then environment, then the settings file's ``[server]``.

Reads them; the settings of the memory itself are ``MemoryConfig``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from ..config.sources import read_toml
from ..errors import ConfigError
from ..hints import nearest_hint, shown
from ..place import cache_directory, is_address
from .local import is_loopback

PREFIX = "EPISODICA_SERVER_"
# The environment variable that hands the settings to worker processes.
HANDED_ON = "EPISODICA_SERVER_SETTINGS"
_LONGEST_SECONDS = 86_400.0
# What nothing works without.
_COUNTS = ("max_body_bytes", "max_batch", "max_connections", "max_sessions")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of ``episodica serve``, which ``docs/serve.md`` describes."""

    store: str = "memories"
    tenant: str = "default"
    host: str = "127.0.0.1"
    port: int = 8077
    uds: str = ""
    workers: int = 1
    read_only: bool = False
    keys: str = ""
    config: str = ""
    timezone: str = ""
    max_body_bytes: int = 16 << 20
    max_nesting: int = 64
    max_batch: int = 10_000
    max_import: int = 50_000
    max_concurrency: int = 128
    max_waiting: int = 2_000
    max_buffered_bytes: int = 256 << 20
    max_connections: int = 4_096
    max_sessions: int = 1_000
    max_streams: int = 1_000
    max_exports: int = 16
    max_forming: int = 256
    key_share: float = 0.5
    rate_per_minute: int = 6_000
    body_timeout_seconds: float = 30.0
    send_timeout_seconds: float = 30.0
    shutdown_timeout_seconds: float = 20.0
    metrics: bool = True
    tracing: bool = False

    @property
    def keys_path(self) -> Path:
        """The file of keys."""
        if not self.keys and is_address(self.store):
            return Path("episodica.keys.json").absolute()
        own = self.store_path
        return Path(self.keys).expanduser() if self.keys else own.parent / f"{own.name}.keys.json"

    @property
    def needs_keys_for_audit(self) -> bool:
        """Whether the audit log must lie next to a file of keys: a database has no folder."""
        return not self.keys and is_address(self.store)

    @property
    def store_path(self) -> Path:
        """The store's directory, or that of its caches on this machine."""
        store = cache_directory() if is_address(self.store) else self.store
        return Path(store).expanduser().absolute()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return bool(self.uds) or is_loopback(self.host)

    @classmethod
    def load(cls, given: Mapping[str, Any], env: Mapping[str, str] = os.environ) -> Self:
        """The settings: those given that are not ``None``, then the environment, then the file."""
        path = given.get("config") or env.get("EPISODICA_CONFIG") or ""
        values = _from_file(Path(path).expanduser()) if path else {}
        values |= _from_environment(env)
        values |= {name: value for name, value in given.items() if value is not None}
        settings = cls(**{**values, "config": str(path)})
        settings._check()
        return settings

    def _check(self) -> None:
        for name, least in (("workers", 1), ("port", 0), *((name, 1) for name in _COUNTS)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}: `{getattr(self, name)}`")
        for name in ("body_timeout_seconds", "send_timeout_seconds", "shutdown_timeout_seconds"):
            if not 0 < getattr(self, name) < _LONGEST_SECONDS:
                raise ConfigError(f"{name} is out of range: `{getattr(self, name)}`")
        if not 0 < self.key_share <= 1:
            raise ConfigError(f"key_share must be above 0 and at most 1: `{self.key_share}`")
        if self.port > 65_535:
            raise ConfigError(f"port must be at most 65535: `{self.port}`")

    def to_environment(self) -> str:
        """The settings as text for the environment of a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings that :meth:`to_environment` wrote."""
        return cls(**json.loads(os.environ[HANDED_ON]))


def _from_file(path: Path) -> dict[str, Any]:
    section = read_toml(path).get("server", {})
    if not isinstance(section, dict):
        raise ConfigError(f"`server` must be a table in `{path}`", path=str(path))
    for name, value in section.items():
        section[name] = _checked(name, value, f"`server.{shown(name)}` in `{path}`")
    return section


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, text in env.items():
        if not variable.startswith(PREFIX) or variable == HANDED_ON:
            continue
        name = variable.removeprefix(PREFIX).lower()
        kind = type(_default(name, f"environment variable: `{shown(variable)}`"))
        try:
            values[name] = (
                {"1": True, "true": True, "0": False, "false": False}[text.lower()]
                if kind is bool
                else kind(text)
            )
        except (ValueError, KeyError):
            raise ConfigError(f"{variable} must be a {kind.__name__}: `{shown(text)}`") from None
    return values


def _checked(name: str, value: object, place: str) -> Any:
    default = _default(name, f"setting: {place}")
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"must be a {type(default).__name__}: {place}")
    return value


def _default(name: str, what: str) -> Any:
    known = {one.name: one.default for one in fields(ServerSettings)}
    if name not in known:
        raise ConfigError(f"unknown {what}", hint=nearest_hint(name, known))
    return known[name]
