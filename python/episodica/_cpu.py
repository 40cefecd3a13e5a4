"""Refuse in one line to load the engine where the processor can't run it.

The engine asks the processor itself (``episodica_faiss::cpu_supported``), which on Linux comes too late: static data of FAISS is
initialised while the library loads, with the same instructions. So this asks the kernel before. Importing the module is the check;
the package does it before it imports ``_native``.
"""

from __future__ import annotations

import os
from pathlib import Path

# What -march=x86-64-v3 allows the compiler to use, by the kernel's names and in the order of its
# importance to us.
_REQUIRED = ("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe")
# The first processor's paragraph; the kernel writes no more of them than are read.
_FIRST_PARAGRAPH_BYTES = 8192


def missing_features(cpuinfo: str) -> list[str]:
    """Name what the first processor of ``/proc/cpuinfo`` lacks; nothing where the text has no flags."""
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            present = set(line.partition(":")[2].split())
            return [name.upper() for name in _REQUIRED if name not in present]
    return []


def _check() -> None:
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
            f"this processor lacks {', '.join(missing)}; episodica's FAISS is compiled for x86-64-v3 (Intel since 2013, AMD since 2015)"
        )


_check()
