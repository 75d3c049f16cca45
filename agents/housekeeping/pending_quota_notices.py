"""In-process record of quota notices that are due but not yet sent."""

from __future__ import annotations

from agents.actions.send_quota_notices import workspaces_with_notices


class PendingQuotaNotices:
    """Times at which this process first saw a due notice of a workspace; no row stores them."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def are_overdue(self, seconds: float, *, now: float) -> bool:
        """Update the record; return True if a notice has been due for more than ``seconds``.

        ``now`` is the time of a monotonic clock.
        """
        self._since = {one: self._since.get(one, now) for one in workspaces_with_notices()}
        return any(now - since > seconds for since in self._since.values())
