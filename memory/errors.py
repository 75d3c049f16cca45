"""Errors of memories and knowledge bases."""

from __future__ import annotations

from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError


class InvalidMemoryError(HeartbitError):
    """The memory cannot be stored as it is."""


class MemoryNotFoundError(NotFoundError):
    """The caller reaches no such memory."""


class MemoryStateError(ConflictError):
    """The memory is forgotten, or has no change to undo."""


class InvalidKnowledgeError(HeartbitError):
    """The knowledge base or document cannot be stored as it is."""


class UnreadableDocumentError(HeartbitError):
    """The document cannot be read: its form, or what is in it."""


class KnowledgeBaseNotFoundError(NotFoundError):
    """The workspace has no such knowledge base, or the agent is not given it."""


class DocumentNotFoundError(NotFoundError):
    """The knowledge base has no such document."""


class PassageNotFoundError(NotFoundError):
    """The workspace has no such passage: its document was deleted, or has another content now."""


class MemoryProviderError(HeartbitError):
    """The memory provider that is plugged in failed, or did not answer in time."""
