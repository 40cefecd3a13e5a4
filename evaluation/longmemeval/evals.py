"""Scores the answers (`bleu_score`, `f1_score`), and has them judged (`llm_score`) if a model is named: `metrics.json` for each system."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.longmemeval.data import load, rules, write_hypotheses

if __name__ == "__main__":
    raise SystemExit(pipeline.evals(pipeline.Benchmark(load, rules, write_hypotheses), __doc__))
