"""Conversations from files of other tools."""

from .conversation import Conversation as Conversation
from .conversation import LeftOut as LeftOut
from .conversation import Question as Question
from .conversation import Statement as Statement
from .conversation import with_ids as with_ids
from .formats import EXPECTED as EXPECTED
from .formats import EXPORT as EXPORT
from .formats import FORMATS as FORMATS
from .formats import in_file as in_file
from .formats import iter_conversations as iter_conversations
from .formats import read_conversations as read_conversations
from .nemori import is_nemori as is_nemori
from .nemori import nemori as nemori
from .source import Source as Source
