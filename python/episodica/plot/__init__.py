"""Charts of a memory, for those who have matplotlib (``pip install 'episodica[plot]'``)."""

from .pictures import Plots as Plots
