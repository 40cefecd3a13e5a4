"""The asynchronous classes."""

from .system import AsyncMemorySystem as AsyncMemorySystem
from .system import AsyncPlots as AsyncPlots
