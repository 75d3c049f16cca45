"""Colours of states and events, and the word of a status."""

from __future__ import annotations

from typing import Final, Literal

Tone = Literal["", "info", "success", "warning", "danger", "primary"]

#: Of runs, calls and deliveries, as in ``web/dom.js``; others have none.
STATUS_TONES: Final[dict[str, Tone]] = {
    "running": "info",
    "waiting": "primary",
    "succeeded": "success",
    "ok": "success",
    "delivered": "success",
    "failed": "danger",
    "error": "danger",
    "quarantined": "danger",
    "cancelled": "warning",
}


def status_word(status: str) -> str:
    """Return a status as labels write it: ``Succeeded``."""
    return status.replace("_", " ").capitalize()
