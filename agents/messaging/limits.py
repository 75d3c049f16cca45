"""Size limits of messages. Pure."""

from __future__ import annotations

MOST_CHARACTERS = 20_000
#: Bytes of a text as JSON in the inbox: with its other fields a message fits into a tool result of
#: the default size (32,768) and is not truncated.
MOST_OF_AN_ENTRY = 30_000
MOST_OF_A_THREAD = 100  # characters of its name
