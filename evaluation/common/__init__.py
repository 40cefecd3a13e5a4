"""What both benchmarks share: data model, metrics, systems under test, stages.

Knows no dataset's format.
"""
