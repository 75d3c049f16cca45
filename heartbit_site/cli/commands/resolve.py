"""`heartbit resolve`."""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.cli.approvals.decisions import Outcome, Settle
from heartbit_site.cli.approvals.kinds import OUTCOME
from heartbit_site.cli.following.pending_calls import list_or_decide
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import with_groups
from heartbit_site.cli.terminal.errors import UsageError

CALL = common.argument("CALL", "Resolve this call of the run, e.g. 1.0.", None)


@dataclass(frozen=True, slots=True)
class ResolutionOptions:
    """Options that say what became of a call."""

    retry: bool = common.flag("--retry", "Make the call again: its effect may happen twice.")
    confirm: bool = common.flag("--confirm", "Record that the call took effect.")
    result: str | None = common.option("TEXT", "With --confirm: result that the model reads.", None)
    skip: bool = common.flag(
        "--skip", "Leave the call; the model reads that its outcome is unknown."
    )

    def choice(self) -> Settle | None:
        """Return the choice that the options make; None: the person is asked.

        Raises:
            CommandError: The options contradict each other.
        """
        said: dict[Outcome, bool] = {
            "retry": self.retry,
            "confirm": self.confirm,
            "skip": self.skip,
        }
        chosen = [outcome for outcome, is_said in said.items() if is_said]
        if len(chosen) > 1:
            raise UsageError("Say one of --retry, --confirm and --skip.")
        if self.result is not None and not self.confirm:
            raise UsageError("--result goes with --confirm.")
        return Settle(chosen[0], self.result or "") if chosen else None


@with_groups
def resolve(
    run: str | None = common.ANY_RUN, call: str | None = CALL, *, resolution: ResolutionOptions
) -> int:
    """Resolve uncertain tool calls, whose worker crashed while they ran.

    Without a run it lists them. On a terminal it then asks, one call after the other.
    """
    return list_or_decide(OUTCOME, run, call, resolution.choice())
