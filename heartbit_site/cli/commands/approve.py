"""`heartbit approve`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from heartbit_site.cli.approvals.decisions import Answer, Approve, Choice, Deny, Edit, Scope
from heartbit_site.cli.approvals.kinds import APPROVAL
from heartbit_site.cli.following.pending_calls import list_or_decide
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import with_groups
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.times import until

CALL = common.argument("CALL", "Decide this call, e.g. 1.0; none: all.", None)
DIGEST = common.option("", "Only the call that --json showed with it.")


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """Options that say how a call is decided."""

    yes: bool = common.flag("--yes -y", "Let it run as it was shown.")
    edit: str | None = common.option("JSON", "Let it run with these arguments.", None)
    answer: str | None = common.option(
        "TEXT", "Answer it, if it is a question: text, or JSON.", None
    )
    deny: str | None = common.option("REASON", "Do not; the model reads why.", None)
    always: Scope | None = common.option(
        "", "With --yes: such calls in this run, or of this agent, from now on.", None
    )
    until: str | None = common.option(
        "WHEN", "With --always: 2h, 3d, 2026-12-31; else for good.", None
    )

    def choice(self) -> Choice | None:
        """Return the choice that the options make; None: the person is asked.

        Raises:
            CommandError: The options contradict each other, or `until` is no moment to come.
        """
        texts = (self.edit, self.answer, self.deny)
        if self.yes + sum(text is not None for text in texts) > 1:
            raise UsageError("Say one of --yes, --edit, --answer and --deny.")
        if self.always is None and self.until is not None:
            raise UsageError("--until goes with --always run or --always agent.")
        if self.always is not None and not self.yes:
            raise UsageError("--always goes with --yes.")
        if self.edit is not None:
            return Edit(self.edit)
        if self.answer is not None:
            return Answer(self.answer)
        if self.deny is not None:
            return Deny(self.deny)
        if not self.yes:
            return None
        end = None if self.until is None else until(self.until, datetime.now().astimezone())
        return Approve(self.always, end)


@with_groups
def approve(
    run: str | None = common.ANY_RUN,
    call: str | None = CALL,
    *,
    verdict: DecisionOptions,
    digest: str = DIGEST,
) -> int:
    """Decide tool calls that wait for a person.

    Without a run it lists what waits. On a terminal it then asks, one call after the other.
    What an agent asks with ask_human is answered here as well.
    """
    return list_or_decide(APPROVAL, run, call, verdict.choice(), digest=digest)
