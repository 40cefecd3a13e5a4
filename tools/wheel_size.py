"""Print the wheels in a folder with their sizes.

Fail for one that is larger than users should have to download.
"""

import sys
from pathlib import Path

LIMIT_BYTES = 16_500_000

wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
for wheel in wheels:
    size = wheel.stat().st_size
    print(f"{wheel} {size / 1e6:.1f} MB")
    if size > LIMIT_BYTES:
        sys.exit(f"wheel is larger than {LIMIT_BYTES / 1e6:.1f} MB")
if not wheels:
    sys.exit("no wheel was built")
