"""``python -m episodica`` is the command ``episodica``."""

import sys

from .cli import main

sys.exit(main())
