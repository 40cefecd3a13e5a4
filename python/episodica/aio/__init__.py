"""The asynchronous classes."""

from .recalling import AsyncRecall as AsyncRecall
from .system import AsyncMemorySystem as AsyncMemorySystem
from .system import AsyncPlots as AsyncPlots
