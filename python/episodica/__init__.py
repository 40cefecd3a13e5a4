"""episodica: episodic memory for LLM agents.

>>> from episodica import MemorySystem
>>> with MemorySystem("memories") as memory:
...     _ = memory.add_messages("alice", [{"role": "user", "content": "My dog is called Pickle."}])
...     print(memory.search("alice", "name of the dog", kinds=["message"])[0].content)
My dog is called Pickle.
"""

from __future__ import annotations

from . import preflight as preflight  # isort: skip; must run before the engine is loaded
from . import _native
from . import display as display  # registers how values look in notebooks
from .aio import AsyncMemorySystem, AsyncPlots, AsyncRecall
from .changes import Change, ChangeSide
from .config import EmbeddingConfig, LLMConfig, MemoryConfig
from .errors import (
    ClosedError,
    ConfigError,
    CorruptStoreError,
    EmbeddingError,
    EmbeddingMismatchError,
    EpisodicaError,
    InternalError,
    InterruptedOperationError,
    InvalidInputError,
    LLMError,
    MissingExtraError,
    ReadOnlyStoreError,
    StoreIOError,
    StoreLockedError,
    StoreRolledBackError,
    StoreUnavailableError,
    UnsupportedFormatError,
    VectorIndexError,
)
from .explaining import Standing
from .following import EventStream, Subscription
from .forgetting import ForgettingCandidate, ForgettingReport
from .inputs.checks import text as _text
from .layers.values import Entry, Exploration, Step
from .listings import AsyncRecords, Records
from .plot import Plots
from .profile import Profile, ProfileLine
from .recalling import Recall
from .records import Episode, Message, Procedure, ProcedureStep, SemanticMemory
from .reports import (
    AddResult,
    BackupReport,
    CompactReport,
    DeleteReport,
    Estimate,
    Event,
    Events,
    ExportReport,
    ImportReport,
    LearningReport,
    Problem,
    RebuildReport,
    VerifyReport,
)
from .results import Context, Explanation, Hit, SearchResults
from .sessions import Session, SessionReport
from .status import (
    Cost,
    EmbeddingHealth,
    Health,
    LLMHealth,
    ServiceHealth,
    StoreHealth,
    StoreStats,
    TraceStep,
    Usage,
    UserStats,
    VectorCounts,
)
from .system import LightweightSearchSystem, MemorySystem

__version__: str = _native.version()

__all__ = [
    "AddResult",
    "AsyncMemorySystem",
    "AsyncPlots",
    "AsyncRecall",
    "AsyncRecords",
    "BackupReport",
    "Change",
    "ChangeSide",
    "ClosedError",
    "CompactReport",
    "ConfigError",
    "Context",
    "CorruptStoreError",
    "Cost",
    "DeleteReport",
    "EmbeddingConfig",
    "EmbeddingError",
    "EmbeddingHealth",
    "EmbeddingMismatchError",
    "Entry",
    "Episode",
    "EpisodicaError",
    "Estimate",
    "Event",
    "EventStream",
    "Events",
    "Explanation",
    "Exploration",
    "ExportReport",
    "ForgettingCandidate",
    "ForgettingReport",
    "Health",
    "Hit",
    "ImportReport",
    "InternalError",
    "InterruptedOperationError",
    "InvalidInputError",
    "LLMConfig",
    "LLMError",
    "LLMHealth",
    "LearningReport",
    "LightweightSearchSystem",
    "MemoryConfig",
    "MemorySystem",
    "Message",
    "MissingExtraError",
    "Plots",
    "Problem",
    "Procedure",
    "ProcedureStep",
    "Profile",
    "ProfileLine",
    "ReadOnlyStoreError",
    "RebuildReport",
    "Recall",
    "Records",
    "SearchResults",
    "SemanticMemory",
    "ServiceHealth",
    "Session",
    "SessionReport",
    "Standing",
    "Step",
    "StoreHealth",
    "StoreIOError",
    "StoreLockedError",
    "StoreRolledBackError",
    "StoreStats",
    "StoreUnavailableError",
    "Subscription",
    "TraceStep",
    "UnsupportedFormatError",
    "Usage",
    "UserStats",
    "VectorCounts",
    "VectorIndexError",
    "VerifyReport",
    "__version__",
    "count_tokens",
]


def count_tokens(text: str) -> int:
    """Tokens of a text in the encoding o200k_base, from tables inside the package.

    Raises
    ------
    InvalidInputError
        If `text` is not a `str`, or has lone surrogates.

    Examples
    --------
    >>> count_tokens("hello world")
    2
    """
    return _native.count_tokens(_text(text, "text"))


def __dir__() -> list[str]:
    return __all__


def _present_as_public() -> None:
    """Makes tracebacks, pickles and ``help`` name this package as the module of its classes."""
    for name in __all__:
        item = globals()[name]
        if isinstance(item, type):
            item.__module__ = __name__


_present_as_public()
