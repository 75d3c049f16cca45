"""Values of the columns of memories."""

from __future__ import annotations

from django.db import models


class Scope(models.TextChoices):
    """Scope of a memory: the runs that recall it."""

    WORKSPACE = "workspace", "All agents of the workspace"
    AGENT = "agent", "One agent, for everyone"
    PERSON = "person", "One agent, for one person"
    CONVERSATION = "conversation", "One conversation"


class Category(models.TextChoices):
    """Kind of content."""

    FACT = "fact", "Fact"
    DECISION = "decision", "Decision"
    PREFERENCE = "preference", "Preference"
    TODO = "todo", "To-do"
    LEARNING = "learning", "Learning"
    CONTEXT = "context", "Context"
    SUMMARY = "summary", "Summary"


class ChangeKind(models.TextChoices):
    """Kind of an entry of a memory's history."""

    REMEMBERED = "remembered", "Remembered"
    SUPERSEDED = "superseded", "Superseded"
    FORGOTTEN = "forgotten", "Forgotten"


class KeptDays(models.IntegerChoices):
    """Retention of memories, in days."""

    WEEK = 7, "7 days"
    MONTH = 30, "30 days"
    QUARTER = 90, "90 days"


class DocumentKind(models.TextChoices):
    """Form of a document, by which it is read."""

    TEXT = "text", "Text"
    MARKDOWN = "markdown", "Markdown"
    HTML = "html", "HTML"
    PDF = "pdf", "PDF"
    DOCX = "docx", "DOCX"


class DocumentState(models.TextChoices):
    """State of a document: its passages are stored part by part."""

    QUEUED = "queued", "Waits to be read"
    READING = "reading", "Being read"
    READY = "ready", "Ready"
    FAILED = "failed", "Could not be read"

    @classmethod
    def unread(cls) -> models.Q:
        """Select the documents that have parts to be read."""
        return models.Q(state__in=[cls.QUEUED, cls.READING])
