"""Print the first Python block of a Markdown file, as `tools/wheel_smoke` runs it."""

import re
import sys
from pathlib import Path

block = re.search(
    r"^```python\n(.*?)^```$",
    Path(sys.argv[1]).read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
if block is None:
    sys.exit(f"no Python block in {sys.argv[1]}")
sys.stdout.write(block[1])
