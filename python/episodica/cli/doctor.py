"""``episodica doctor``: this machine, missing parts, and the state of the store.

It only reads, and changes nothing. Keys are named, never shown.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import _native
from ..config import MemoryConfig
from ..config.endpoint import public_url
from ..errors import EpisodicaError
from ..place import cache_directory, is_address
from .output import Output
from .stores import opened, store_of

# Environment variables that may have the key of an endpoint.
_KEYS = ("OPENAI_API_KEY", "EPISODICA_LLM_API_KEY", "EPISODICA_EMBEDDING_API_KEY")
# The kernel's names of the file systems on which the engine makes no store.
_NETWORK = frozenset({"afs", "ceph", "cifs", "lustre", "nfs", "nfs4", "smb2", "smb3", "smbfs"})
# Less free space is a problem, because a log is copied when it is rewritten.
_LEAST_FREE_BYTES = 100_000_000
_PACKAGE = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_OCTAL = re.compile(r"\\([0-7]{3})")


def doctor(args: argparse.Namespace, out: Output) -> int:
    """Checks this installation and the store; 1 if a check fails."""
    findings: dict[str, Any] = {**_machine(), **_extras(), "keys": _keys()}
    problems: list[str] = []
    failure: EpisodicaError | None = None
    try:
        settings, defaults = MemoryConfig.load().to_dict(), MemoryConfig().to_dict()
        findings["settings"] = {
            name: value for name, value in settings.items() if value != defaults[name]
        } or "defaults"
        store = store_of(args)
        findings["store"] = public_url(store) if is_address(store) else store
        place = cache_directory() if is_address(store) else store
        findings["directory"] = directory(Path(place), problems)
        findings |= _state(args, problems)
    except EpisodicaError as error:
        failure = error
    else:
        if findings["health"]["status"] not in ("ok", "no store yet"):
            problems.append("the store is not healthy: `episodica verify` says more")
    healthy = failure is None and not problems
    out.tree({**findings, "problems": problems, "healthy": healthy})
    if failure is not None:
        raise failure
    return 0 if healthy else 1


def _machine() -> dict[str, Any]:
    threads = " without the interpreter lock" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    name, version = platform.libc_ver()
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}{threads}",
        "numpy": metadata.version("numpy"),
        "platform": platform.platform(),
        "c_library": f"{name} {version}".strip() or "unknown",
        **_native.system_info(),
    }


def _extras() -> dict[str, list[str]]:
    """The extras whose packages are installed, and those that lack a package."""
    missing: dict[str, list[str]] = {}
    for requirement in metadata.requires("episodica") or ():
        needed, _, marker = requirement.partition(";")
        named, extra_of = _PACKAGE.match(needed), _EXTRA.search(marker)
        if named is not None and extra_of is not None:
            package, extra = named[0], extra_of[1]
            missing.setdefault(extra, []).extend([] if _is_installed(package) else [package])
    return {
        "extras": sorted(name for name, lacks in missing.items() if not lacks),
        "extras_missing": sorted(name for name, lacks in missing.items() if lacks),
    }


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _keys() -> list[str]:
    return [name for name in _KEYS if os.environ.get(name)]


def directory(store: Path, problems: list[str]) -> dict[str, Any]:
    """The state of the store's directory, or of the one in which it would be made.

    Appends to ``problems`` what would keep the engine from writing there.
    """
    path = store.expanduser().absolute()
    place = next(one for one in (path, *path.parents) if one.is_dir())
    writable = os.access(place, os.W_OK | os.X_OK)
    free = shutil.disk_usage(place).free
    kind = file_system(place)
    if place != path and not writable:
        problems.append(f"no store can be made here, `{place}` is not writable")
    if kind in _NETWORK:
        problems.append(f"the store is reached over a network ({kind}), which the engine refuses")
    if free < _LEAST_FREE_BYTES:
        problems.append(f"the disk is almost full: {free:,} bytes are free")
    return {"writable": writable, "free_bytes": free, "file_system": kind}


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kernel's name for the kind of file system, or ``unknown``."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return "unknown"  # not Linux, or a closed sandbox
    path = path.resolve()
    found = (-1, "unknown")
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        mounted = Path(_OCTAL.sub(lambda escape: chr(int(escape[1], 8)), point))
        # Of two mounts at one place, the later one hides the earlier one.
        if len(mounted.parts) >= found[0] and (path == mounted or mounted in path.parents):
            found = (len(mounted.parts), kind)
    return found[1]


def _state(args: argparse.Namespace, problems: list[str]) -> dict[str, Any]:
    """The store's health, and the files that need a person's attention, with what to do."""
    store = store_of(args)
    if not is_address(store) and not Path(store).expanduser().is_dir():
        return {"health": {"status": "no store yet"}}
    with opened(args) as memory:
        health, odd = memory.health().to_dict(), memory._engine.check_files()
    # True of every store here: the command opens it for reading.
    del health["store"]["read_only"]
    notes: list[str] = []
    for one in odd:
        told = f"{one.path}: {one.message}; {one.remedy}"
        (notes if one.mended else problems).append(told)
    return {"health": health, **({"files": notes} if notes else {})}
