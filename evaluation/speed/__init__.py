"""Benchmarks of the speed and scale of the package."""
