"""``python -m episodica`` is the command ``episodica``."""

import sys

from ._cli import main

sys.exit(main())
