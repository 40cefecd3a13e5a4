"""Benchmarks of `episodica`: LoCoMo and LongMemEval, with baselines, intervals and a report.

Uses the public package only, and is not part of the wheel: run it from a checkout.
"""
