"""``python -m episodica.compat.nemori script.py`` runs a script that was written for Nemori."""

import sys

from .running import main

sys.exit(main())
