"""A person, played by a thread: decides whatever waits, by seed, and keeps a journal of it.

Asked what became of a call whose worker died, they look at the effects server's ledger.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from django.db import connections

from agents.actions.decide_call import approve_call, deny_call, edit_call
from agents.actions.resolve_wait import resolve_call
from agents.choices import CallResolution
from agents.errors import CallClosedError
from agents.querysets import calls_waiting, uncertain_calls
from heartbit_site.base.audit import Actor as Person
from tests.chaos.approvals import EDITED
from tests.chaos.journals import op_of
from tests.chaos.records import Decided, read_effects

if TYPE_CHECKING:
    from pathlib import Path

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace

ANNA, BEN = Person("anna", "api"), Person("ben", "api")
LOOK_EVERY = 0.05
#: How the dice fall: six in ten are approved, two edited, two denied.
VERDICTS = ("approved",) * 6 + ("edited",) * 2 + ("denied",) * 2


class Decider:
    """Decides every call of a workspace that waits; a decision is on disk once it was taken.

    Anna decides first. Ben comes right after her with the opposite and has to be turned away; if
    he is not, his decision is in the journal as well.
    """

    def __init__(self, workspace: Workspace, *, seed: int, journal: Path) -> None:
        self._workspace = workspace
        self._seed = seed
        self._journal = journal
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="decider")
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._journal.touch()
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._over.set()
        self._thread.join(timeout=30)
        if self._error is not None and error is None:
            raise self._error

    def _work(self) -> None:
        try:
            while not self._over.wait(LOOK_EVERY):
                for call in calls_waiting(self._workspace):
                    self._decide(call)
                for call in uncertain_calls(self._workspace):
                    self._settle(call)
        except BaseException as error:  # noqa: BLE001  told when the scenario ends
            self._error = error
        finally:
            connections.close_all()

    def _decide(self, call: ToolCall) -> None:
        dice = random.Random(f"{self._seed}:{op_of(call)}")  # noqa: S311  repeatable, not secret
        verdict = dice.choice(VERDICTS)
        self._take(call, verdict, by=ANNA)
        self._take(call, "denied" if verdict != "denied" else "approved", by=BEN)

    def _settle(self, call: ToolCall) -> None:
        ledger = read_effects(self._journal.with_name("effects.jsonl"))
        known = any(effect.op.removesuffix(EDITED) == op_of(call) for effect in ledger)
        with suppress(CallClosedError):
            resolve_call(
                call, CallResolution.CONFIRMED if known else CallResolution.SKIPPED, by=ANNA
            )

    def _take(self, call: ToolCall, verdict: str, *, by: Person) -> None:
        at, op = time.time(), op_of(call)
        try:
            match verdict:
                case "approved":
                    approve_call(call, digest=call.digest, by=by)
                case "edited":
                    op += EDITED
                    arguments = json.dumps(_edited(json.loads(call.arguments)))
                    edit_call(call, digest=call.digest, by=by, arguments=arguments)
                case _:
                    op = ""
                    deny_call(call, digest=call.digest, by=by, reason="Not today.")
        except CallClosedError:
            return
        self._write(Decided(str(call.run_id), call.call_id, verdict, op, at))

    def _write(self, decided: Decided) -> None:
        with self._journal.open("a") as file:
            file.write(json.dumps(asdict(decided)) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _edited(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same call with another effect: ``op`` is the tool's own argument or in its body."""
    if "op" in arguments:
        return {**arguments, "op": arguments["op"] + EDITED}
    body = arguments["json"]
    return {**arguments, "json": {**body, "op": body["op"] + EDITED}}
