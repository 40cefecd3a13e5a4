"""An endpoint's address, key and proxy: from the settings, else from the environment."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_DEFAULT_BASE_URL = "https://api.openai.com/v1"
_FIELDS = (
    "organization",
    "timeout_seconds",
    "max_attempts",
    "retry_wait_seconds",
    "breaker_failures",
    "breaker_seconds",
)


def endpoint_settings(part: Any) -> dict[str, Any]:
    """The endpoint of an ``LLMConfig`` or ``EmbeddingConfig`` as the engine takes it."""
    settings: dict[str, Any] = {name: getattr(part, name) for name in _FIELDS}
    base_url = part.base_url or os.environ.get("OPENAI_BASE_URL") or _DEFAULT_BASE_URL
    settings["base_url"] = base_url
    settings["api_key"] = part.api_key or os.environ.get("OPENAI_API_KEY") or None
    settings["headers"] = dict(part.headers or {})
    settings["proxy"] = part.proxy or _proxy(base_url)
    return settings


def _proxy(base_url: str) -> str | None:
    """The environment's proxy for an address, as curl would find it."""
    address = urlsplit(base_url)
    if not address.hostname or proxy_bypass(address.hostname):
        return None
    proxies = getproxies()
    return proxies.get(address.scheme) or proxies.get("all")
