"""Errors of memories and knowledge bases."""

from __future__ import annotations

from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError


class InvalidMemoryError(HeartbitError):
    """The memory is not valid."""


class MemoryNotFoundError(NotFoundError):
    """The memory does not exist, or the caller has no access to it."""


class MemoryStateError(ConflictError):
    """The memory is forgotten, or has no change to undo."""


class InvalidKnowledgeError(HeartbitError):
    """The knowledge base or document is not valid."""


class UnreadableDocumentError(HeartbitError):
    """The document cannot be read, because of its format or its content."""


class KnowledgeBaseNotFoundError(NotFoundError):
    """The workspace has no such knowledge base, or the agent may not search it."""


class DocumentNotFoundError(NotFoundError):
    """The knowledge base has no such document."""


class PassageNotFoundError(NotFoundError):
    """The workspace has no such passage: its document was deleted or replaced."""


class InvalidCollectionError(HeartbitError):
    """The collection, an item of it, or a search is not valid."""


class CollectionNotFoundError(NotFoundError):
    """The workspace has no such collection."""


class CollectionFullError(ConflictError):
    """The workspace has no room for another collection or item."""


class MemoryProviderError(HeartbitError):
    """The configured memory provider failed, or did not answer in time."""
