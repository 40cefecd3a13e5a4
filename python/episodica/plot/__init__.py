"""Charts of a memory, which need matplotlib (``pip install 'episodica[plot]'``)."""

from .pictures import Plots as Plots
