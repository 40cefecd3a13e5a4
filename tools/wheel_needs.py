"""Names the libraries that the extension module of an unpacked wheel loads.

    python tools/wheel_needs.py FOLDER ALLOWED...

Fails where it loads another one: nothing may come from the machine that built it.
"""

import subprocess
import sys
from pathlib import Path

folder, allowed = Path(sys.argv[1]), set(sys.argv[2:])
(module,) = (folder / "episodica").glob("_native*.so")
dynamic = subprocess.run(
    ["readelf", "--dynamic", "--wide", module], check=True, capture_output=True, text=True
).stdout
needed = [
    line.partition("[")[2].partition("]")[0] for line in dynamic.splitlines() if "(NEEDED)" in line
]
print(f"{module.name} loads {', '.join(needed)}")
if strays := set(needed) - allowed:
    sys.exit(f"it should not load {', '.join(sorted(strays))}")
