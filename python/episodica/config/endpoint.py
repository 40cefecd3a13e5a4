"""An endpoint's address, key and proxy: from the settings, else from the environment.

Also the form in which they may be shown: addresses without passwords and keys.
"""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..errors import ConfigError
from ..hints import shown

C = TypeVar("C")

_DEFAULT_BASE_URL = "https://api.openai.com/v1"
# The server that answers nothing without a key.
_NEEDS_KEY = urlsplit(_DEFAULT_BASE_URL).hostname
_FIELDS = (
    "organization",
    "timeout_seconds",
    "max_attempts",
    "retry_wait_seconds",
    "breaker_failures",
    "breaker_seconds",
)
_SECRET = ("api_key", "headers", "proxy", "organization")
# The one part of a query that is known to hold no key.
_OPEN_PARAMETER = "api-version"


def endpoint_settings(part: Any) -> dict[str, Any]:
    """The endpoint of an ``LLMConfig`` or ``EmbeddingConfig`` as the engine takes it."""
    settings: dict[str, Any] = {name: getattr(part, name) for name in _FIELDS}
    base_url = part.base_url or os.environ.get("OPENAI_BASE_URL") or _DEFAULT_BASE_URL
    settings["base_url"] = base_url
    settings["api_key"] = part.api_key or os.environ.get("OPENAI_API_KEY") or None
    settings["headers"] = dict(part.headers or {})
    if not settings["api_key"] and urlsplit(base_url).hostname == _NEEDS_KEY:
        _require_key(part, settings["headers"])
    settings["proxy"] = part.proxy or _proxy(base_url)
    return settings


def _require_key(part: Any, headers: dict[str, Any]) -> None:
    """Refuses an endpoint of OpenAI without a key, which could answer nothing."""
    if any(name.lower() == "authorization" for name in headers):
        return
    config = type(part).__name__
    own = f"EPISODICA_{config.removesuffix('Config').upper()}_API_KEY"
    raise ConfigError(
        f"{config}({shown(part.model)!r}) has no API key for {_DEFAULT_BASE_URL}",
        hint=f"set OPENAI_API_KEY in the environment of this process ({own} for the commands and "
        f"MemoryConfig.load), pass `api_key=`, or name another server with `base_url=`",
    )


def _proxy(base_url: str) -> str | None:
    """The environment's proxy for an address, as curl would find it."""
    from urllib.request import getproxies, proxy_bypass

    address = urlsplit(base_url)
    if not address.hostname or proxy_bypass(address.hostname):
        return None
    proxies = getproxies()
    return proxies.get(address.scheme) or proxies.get("all")


def public_url(url: str, hidden: str | None = None) -> str:
    """An address without user, password and query, of which only ``api-version`` stays.

    With ``hidden``, this text stands in the place of every value that was left out.
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return hidden or ""
    kept = []
    for parameter in filter(None, address.query.split("&")):
        name, equals, _ = parameter.partition("=")
        if name == _OPEN_PARAMETER:
            kept.append(parameter)
        elif hidden:
            kept.append(f"{name}={hidden}" if equals else hidden)
    _, at, host = address.netloc.rpartition("@")
    place = f"{hidden}@{host}" if at and hidden else host
    return address._replace(netloc=place, query="&".join(kept), fragment="").geturl()


def copied(config: C, memo: dict[int, Any]) -> C:
    """A deep copy of settings with their key, which a copy by way of a pickle would lack."""
    values = {one.name: getattr(config, one.name) for one in fields(config)}  # type: ignore[arg-type]
    return replace(config, **deepcopy(values, memo))  # type: ignore[type-var]


def shown_settings(part: Any) -> str:
    """The ``repr`` of an ``LLMConfig`` or ``EmbeddingConfig``."""
    values = _public(part, "…")
    shown = ", ".join(f"{one.name}={values[one.name]!r}" for one in fields(part) if one.repr)
    return f"{type(part).__name__}({shown})"


def open_values(part: Any) -> dict[str, Any] | str | None:
    """The fields as plain JSON types, without secrets; ``None`` and a name stay unchanged."""
    if part is None or isinstance(part, str):
        return part
    values = {name: value for name, value in _public(part, "…").items() if name not in _SECRET}
    if "fallback" in values:
        values["fallback"] = open_values(values["fallback"])
    return values


def pickled_values(part: Any) -> list[Any]:
    """The pickled state, without keys, headers and proxies."""
    return [None if name in _SECRET else value for name, value in _public(part, None).items()]


def _public(part: Any, hidden: str | None) -> dict[str, Any]:
    values = {one.name: getattr(part, one.name) for one in fields(part)}
    if isinstance(values["base_url"], str):
        values["base_url"] = public_url(values["base_url"], hidden)
    return values
