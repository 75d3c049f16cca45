"""Wording of effect classes for cards, mails, terminals and the admin."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.toolspec import Effect

#: A class describes the consequence of a repeated call, not whether the call leaves this host.
EFFECT_TEXT: Final[dict[str, str]] = {
    Effect.PURE: "can be repeated safely",
    Effect.IDEMPOTENT: "takes effect once, also when it is repeated",
    Effect.TRANSACTIONAL: "changes Heartbit's own database, exactly once",
    Effect.AT_MOST_ONCE: "takes effect at most once, and cannot be taken back",
}
#: Reason for asking a person about the outcome of a call.
UNCERTAIN_CALL: Final = "The worker died while the call ran: it may have taken effect, or not."


def describe_effect(effect: str) -> str:
    """Return an effect class in words; an unknown one unchanged."""
    return EFFECT_TEXT.get(effect, effect)
