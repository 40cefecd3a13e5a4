"""What a stranger needs to repeat a run: checksums, versions, configuration, seeds, prompts.

Never a key.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import episodica

from . import intervals
from .dataset import Dataset
from .journal import read_json, write_json

# A run may only be continued while these stay as they were.
FIXED = ("dataset", "data", "episodica", "settings", "limits")


class ManifestError(ValueError):
    """A folder holds another run's results."""


def describe(dataset: Dataset, settings: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a run that starts now."""
    return {
        "dataset": dataset.name,
        "data": dataset.checksums,
        "conversations": len(dataset.conversations),
        "questions": len(dataset.questions),
        "episodica": episodica.__version__,
        "settings": settings,
        "limits": limits,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "seeds": {"bootstrap": intervals.SEED, "resamples": intervals.RESAMPLES},
        "command": ["python", "-m", _module(), *map(_without_folder, sys.argv[1:])],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "systems": {},
        "models": {},
        "prompts": {},
    }


def open_manifest(
    out: Path, dataset: Dataset, settings: dict[str, Any], limits: dict[str, Any]
) -> dict[str, Any]:
    """The manifest in ``out``, begun if there is none.

    Raises
    ------
    ManifestError
        If the folder was begun with other data, another version or other settings: rows of two
        configurations never mix.
    """
    path = out / "manifest.json"
    fresh = describe(dataset, settings, limits)
    if not path.exists():
        write_json(path, fresh)
        return fresh
    known: dict[str, Any] = read_json(path)
    for name in FIXED:
        if known.get(name) != fresh[name]:
            raise ManifestError(
                f"{out} holds a run with another `{name}` ({known.get(name)}, now {fresh[name]}): "
                "choose another --out"
            )
    return known


def note(out: Path, section: str, name: str, value: Any) -> None:
    """Adds an entry to a section of the manifest, such as a system's configuration.

    Raises
    ------
    ManifestError
        If the run has another value there already.
    """
    path = out / "manifest.json"
    manifest = read_json(path)
    known = manifest.setdefault(section, {}).setdefault(name, value)
    if known != json.loads(json.dumps(value)):
        raise ManifestError(
            f"{out} was begun with another {section} `{name}` ({known}, now {value}): choose "
            "another --out"
        )
    write_json(path, manifest)


def _module() -> str:
    path = Path(sys.argv[0])
    return "evaluation" if path.name == "__main__.py" else path.name


def _without_folder(argument: str) -> str:
    """Names of files without the folders of the machine they lie on."""
    return Path(argument).name if "/" in argument and "://" not in argument else argument
