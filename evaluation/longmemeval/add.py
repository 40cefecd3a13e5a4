"""Adds the chat histories of LongMemEval to a memory, each as a user of its own, and waits until their facts are learned.

The store lies in the folder of the run. A conversation that is complete is skipped, so the command may be stopped and repeated."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.longmemeval.data import load, rules, write_hypotheses

if __name__ == "__main__":
    raise SystemExit(pipeline.add(pipeline.Benchmark(load, rules, write_hypotheses), __doc__))
