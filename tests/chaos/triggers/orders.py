"""Orders whose payment starts a run: rows of Django's groups, which every installation has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import Group

from agents.actions.triggered_runs import follow
from agents.definitions.triggers import TRIGGERS, on_change

if TYPE_CHECKING:
    from agents.definitions.triggers import Change

PAID: Final = "r31-paid-"
#: Slug of the scenario's workspace.
WORKSPACE: Final = "CHAOS_TRIGGERS_WORKSPACE"
NAME: Final = "pack-r31"


def follow_orders() -> None:
    """Let payments start runs in this process."""

    @on_change(
        Group,
        agent="packer",
        name=NAME,
        workspace=lambda _: os.environ[WORKSPACE],
        when=lambda change: str(change.new.get("name", "")).startswith(PAID),
    )
    def pack(change: Change) -> dict[str, str]:
        return {"order": change.new["name"]}

    follow(Group)


def leave_orders() -> None:
    """Let payments start no runs any longer."""
    TRIGGERS.pop(NAME, None)
