"""All of LongMemEval with one command: add, search, evals, generate_scores, for the memory and the baselines.

Without --answer-model it needs no network: retrieval is measured alone. A stopped run goes on when the command is repeated."""

from __future__ import annotations

import sys
from pathlib import Path

# The script runs as a file and as a module.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation.common import pipeline
from evaluation.longmemeval.data import load, rules, write_hypotheses

if __name__ == "__main__":
    raise SystemExit(pipeline.run(pipeline.Benchmark(load, rules, write_hypotheses), __doc__))
