"""``python -m episodica.compat.nemori script.py`` runs a script written for Nemori."""

import sys

from .running import main

sys.exit(main())
