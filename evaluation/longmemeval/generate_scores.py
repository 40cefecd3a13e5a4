"""Sums a run up: `scores.json`, `report.html`, `report.md` and the plots."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.longmemeval.data import load, rules, write_hypotheses

if __name__ == "__main__":
    raise SystemExit(
        pipeline.generate_scores(pipeline.Benchmark(load, rules, write_hypotheses), __doc__)
    )
