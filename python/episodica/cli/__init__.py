"""The command ``episodica``."""

from .app import main as main
