"""Child processes, their memory, the size of a folder on disk, and the machine."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Resident:
    """Megabytes of a process that are in memory.

    The kernel can take back pages of mapped files, but no anonymous pages.
    """

    total: float
    anonymous: float
    file: float
    peak: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def resident(status: str | None = None) -> Resident:
    """Of this process, or in tests from the given text of ``/proc/<process>/status``."""
    text = Path("/proc/self/status").read_text(encoding="ascii") if status is None else status
    kilobytes = {
        key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    }
    total, anonymous, file, peak = (
        kilobytes[key] * 1024 / 1e6 for key in ("VmRSS", "RssAnon", "RssFile", "VmHWM")
    )
    return Resident(total, anonymous, file, peak)


def environment() -> dict[str, str]:
    """The environment in which another process finds this package and these benchmarks."""
    found = importlib.util.find_spec("episodica")
    places = [
        str(ROOT),
        *([str(Path(found.origin).parents[1])] if found and found.origin else []),
        os.environ.get("PYTHONPATH", ""),
    ]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def child(module: str, *arguments: str) -> dict[str, Any]:
    """Runs a module in a new process, and reads its line of JSON."""
    command = [sys.executable, "-m", module, *arguments]
    outcome = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment()
    )
    if outcome.returncode != 0:
        raise RuntimeError(
            f"{module} failed with status {outcome.returncode}:\n{outcome.stderr[-2000:]}"
        )
    result: dict[str, Any] = json.loads(outcome.stdout)
    return result


def disk_megabytes(folder: Path) -> float:
    """The size of the files below a folder on disk, in whole blocks."""
    blocks = sum(path.lstat().st_blocks for path in folder.rglob("*"))
    return blocks * 512 / 1e6


def machine() -> dict[str, object]:
    """The machine, and its load."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in info.splitlines()
            if line.startswith("model name")
        ),
        "unknown",
    )
    name = os.uname()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "gigabytes": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "system": f"{name.sysname} {name.release.split('-')[0]}",
        "python": platform.python_version(),
        "load": [round(value, 2) for value in os.getloadavg()],
    }
