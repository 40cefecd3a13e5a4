"""Benchmarks of the package itself: what finds best, and how fast."""
