"""Settings: their classes, and where their values come from."""

from .settings import EmbeddingConfig as EmbeddingConfig
from .settings import LLMConfig as LLMConfig
from .settings import MemoryConfig as MemoryConfig
from .settings import resolve_config as resolve_config
