"""How long a message may be. Pure."""

from __future__ import annotations

MOST_CHARACTERS = 20_000
#: Bytes of a text as the inbox shows it, in JSON: with all that is said of the message it fits into
#: a tool's result of the usual size (32,768), and is read whole.
MOST_OF_AN_ENTRY = 30_000
MOST_OF_A_THREAD = 100  # characters of its name
