"""The asynchronous classes."""

from .methods import AsyncPlots as AsyncPlots
from .system import AsyncMemorySystem as AsyncMemorySystem
