"""Benchmarks of `episodica` on public and own conversations, with baselines, intervals and tables.

Uses the public package only. It is not part of the wheel: run it from a checkout.
"""
