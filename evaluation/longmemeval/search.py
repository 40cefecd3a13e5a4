"""Asks every LongMemEval question of the memory and of the baselines, and answers them if a model is named.

Writes `results.json` for each system: rows with question, answer, category, evidence, response and memories by conversation."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.longmemeval.data import load, rules, write_hypotheses

if __name__ == "__main__":
    raise SystemExit(pipeline.search(pipeline.Benchmark(load, rules, write_hypotheses), __doc__))
