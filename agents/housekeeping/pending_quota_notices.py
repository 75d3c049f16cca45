"""Since when workspaces have had to be told of their quotas, as one process has seen it."""

from __future__ import annotations

from agents.actions.send_quota_notices import workspaces_with_notices


class PendingQuotaNotices:
    """What is kept from look to look: no row says when a quota has come so far."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def are_overdue(self, seconds: float, *, now: float) -> bool:
        """Look; whether a workspace has been seen untold for longer than that.

        Args:
            seconds: So long.
            now: By a clock that only goes forward.
        """
        self._since = {one: self._since.get(one, now) for one in workspaces_with_notices()}
        return any(now - since > seconds for since in self._since.values())
