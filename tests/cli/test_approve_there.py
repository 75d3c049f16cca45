"""`heartbit approve` at a server, on a machine that has nothing but an address and a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Decision, ToolCall
from heartbit_site.base.errors import HeartbitError
from heartbit_site.cli import approvals_there, errors
from heartbit_site.cli.choices import Order
from heartbit_site.cli.remote import Server
from heartbit_site.first_start import default_workspace
from tests.api.server import WebServer, key_for
from tests.cli.terminal import PROMPT, Terminal
from tests.cli.test_approve import TWO, ended, started

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet import Worker

NOWHERE = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


@pytest.fixture
def server(web: WebServer) -> Server:
    return Server(web.url, key_for(default_workspace()))


def test_calls_are_asked_about_and_decided_as_at_home(
    server: Server, worker: Worker, tmp_path: Path
) -> None:
    run = started(TWO, waits=2)
    with pytest.raises(HeartbitError, match="expression"):
        approvals_there.of_run(
            server, str(run.pk), "1.0", Order(edit='{"expresion": "1"}'), as_json=False
        )
    env = {"HEARTBIT_API_KEY": server.key, "HEARTBIT_STATE": str(tmp_path / "s"), **NOWHERE}
    with Terminal("approve", str(run.pk), "--url", server.url, env=env) as terminal:
        shown = terminal.sees(PROMPT)
        assert '"expression": "6*7"' in shown
        terminal.types("e")
        terminal.sees("one line of JSON > ")
        terminal.types('{"expression": "2+3"}')
        terminal.sees("with other arguments.")
        terminal.sees(PROMPT)
        terminal.types("d")
        terminal.sees("reads it > ")
        terminal.types("too easy")
        assert terminal.ends() == (0, "")
    ended(run)
    results = dict(ToolCall.objects.filter(run=run).values_list("call_id", "result"))
    assert results["1.0"] == "5"
    assert "too easy" in str(results["1.1"])
    assert set(Decision.objects.filter(run=run).values_list("via", flat=True)) == {"api"}
    with pytest.raises(HeartbitError) as caught:
        approvals_there.of_run(server, str(run.pk), None, Order(yes=True), as_json=False)
    assert errors.explain(caught.value) == (
        1,
        f"Nothing waits for a decision in run {run.pk} (any more): `heartbit approve` lists what "
        "does.",
    )
