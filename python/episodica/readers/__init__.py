"""Conversations from files of other tools."""

from .conversations import Conversation as Conversation
from .conversations import Question as Question
from .conversations import read_conversations as read_conversations
from .conversations import with_ids as with_ids
