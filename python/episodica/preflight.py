"""Refuses to load the engine where it can't run, with an error of one line.

Importing this module is the check; the package imports it before ``_native``.

* Processor: the engine is compiled for x86-64-v2, and chooses wider instructions itself. On an
  older processor it would die of an illegal instruction while it loads; so this module asks the
  kernel first. Only on Linux, as other systems get the compiler's defaults.
* Interpreter: the engine keeps exception classes and threads that belong to the main interpreter;
  a subinterpreter would fail far from the cause.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

# The features of x86-64-v2 by the kernel's names, most important first.
_REQUIRED = ("sse4_2", "popcnt", "sse4_1", "ssse3", "cx16", "lahf_lm")
# Covers the first processor; the kernel writes only as much as is read.
_FIRST_PARAGRAPH_BYTES = 8192


def missing_features(cpuinfo: str) -> list[str]:
    """The features that the first processor of ``/proc/cpuinfo`` lacks.

    Empty if the text has no flags.
    """
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            present = set(line.partition(":")[2].split())
            return [name.upper() for name in _REQUIRED if name not in present]
    return []


def _check_processor() -> None:
    if not hasattr(os, "uname") or os.uname().machine != "x86_64":
        return
    try:
        with Path("/proc/cpuinfo").open("rb", buffering=0) as file:
            cpuinfo = file.read(_FIRST_PARAGRAPH_BYTES)
    except OSError:
        return  # not Linux, or a closed sandbox: the engine's own check remains
    missing = missing_features(cpuinfo.decode("ascii", "replace"))
    if missing:
        raise ImportError(
            f"this processor lacks {', '.join(missing)}; episodica is compiled for x86-64-v2 "
            "(Intel since 2009, AMD since 2011)"
        )


def is_main() -> bool:
    """Whether this interpreter is the main one; true if Python doesn't tell."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return bool(module.get_current() == module.get_main())
    return True


def _check_interpreter() -> None:
    if not is_main():
        raise ImportError(
            "episodica can't run in a subinterpreter; use the main one, a process or a thread "
            "(mod_wsgi: `WSGIApplicationGroup %{GLOBAL}`)"
        )


_check_processor()
_check_interpreter()
