"""Adds the conversations of LoCoMo to a memory, and waits until their facts are learned.

The store lies in the folder of the run. A conversation that is complete is skipped, so the command may be stopped and repeated."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.locomo.data import load

if __name__ == "__main__":
    raise SystemExit(pipeline.add(pipeline.Benchmark(load), __doc__))
