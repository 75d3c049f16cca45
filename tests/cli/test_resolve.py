"""`heartbit resolve`: what became of calls whose worker died, said here, inline and at a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from agents.journal import events
from agents.models import Decision, Run, ToolCall
from heartbit_site.base.errors import HeartbitError
from heartbit_site.cli.approvals.kinds import OUTCOME
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.commands.waits import ResolutionOptions
from heartbit_site.cli.following import pending_calls
from heartbit_site.cli.following.local_runs import short_id
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.views.display import event_lines
from heartbit_site.cli.views.render import Canvas, render
from heartbit_site.first_start import default_workspace
from heartbit_site.remote.server import Server
from tests.api.server import WebServer, key_for
from tests.cli.in_process import options_of, printed_json
from tests.cli.terminal import Terminal
from tests.cli.trees import ROOT, START, Builder, answered, started
from tests.doubtful import ARGUMENTS, in_doubt

if TYPE_CHECKING:
    from heartbit_site.cli.approvals.decisions import CallChoice
    from heartbit_site.cli.backend.protocol import Backend
    from tests.command import Command

KEYS = "[l]ater > "


def asked() -> ToolCall:
    return in_doubt(default_workspace(), f"[[text: Done.]] [[run: {uuid4()}]]")


def resolution(**word: Any) -> CallChoice | None:
    return options_of(ResolutionOptions, **word).choice()


def settled(run: str, call: str | None = None, **word: Any) -> int:
    return pending_calls.of_run(LocalBackend(), run, call, resolution(**word), OUTCOME)


def listed(backend: Backend, capsys: pytest.CaptureFixture[str]) -> Any:
    return printed_json(lambda: pending_calls.overview(backend, OUTCOME), capsys)


def refused(call: ToolCall, call_id: str | None = None, **word: Any) -> tuple[int, str] | None:
    with pytest.raises(HeartbitError) as caught:
        pending_calls.of_run(
            LocalBackend(),
            str(call.run_id),
            call_id,
            resolution(**word),
            OUTCOME,
        )
    return errors.explain(caught.value)


def test_given_a_dead_worker_when_nobody_is_asked_inline_then_the_command_is_named_and_settles(
    heartbit: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    call = asked()
    left = heartbit("resume", str(call.run_id))
    assert (left.code, left.out) == (4, "")
    told = next(line for line in left.err.splitlines() if "heartbit resolve" in line)
    assert told.startswith("researcher waits for the outcome of http_request: heartbit resolve ")
    found = listed(LocalBackend(), capsys)["calls"]
    mine = next(each for each in found if each["run_id"] == str(call.run_id))
    assert (mine["call_id"], mine["agent"], mine["tool"]) == ("1.0", "researcher", "http_request")
    assert (mine["arguments"], mine["question"]) == (ARGUMENTS, "outcome:1.0:1")
    assert "http_request" in heartbit("resolve").out
    assert "waits for the outcome of" in heartbit("status", str(call.run_id)).out
    assert refused(call) == (
        2,
        "Say --retry, --confirm or --skip: there is no terminal to ask at.",
    )
    assert refused(call, retry=True, skip=True) == (2, "Say one of --retry, --confirm and --skip.")
    assert refused(call, skip=True, result="x") == (2, "--result goes with --confirm.")
    ended = heartbit("resolve", str(call.run_id), "1.0", "--confirm", "--result", "Sent, code 200.")
    assert ended.code == 0
    assert f"`heartbit resume {short_id(call.run_id)}`" in ended.err
    assert ended.out.startswith("It took effect: http_request of researcher: {")
    assert heartbit("resume", str(call.run_id)).out == "Done.\n"
    call.refresh_from_db()
    assert (call.status, call.result) == ("ok", "Sent, code 200.")
    late = refused(call, "1.0", retry=True)
    assert late is not None
    assert (late[0], "already confirmed by " in late[1]) == (1, True)
    assert "confirmed by " in heartbit("runs", "show", str(call.run_id)).out


def test_given_no_process_that_waits_then_whoever_settles_is_told_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = asked()
    name = str(call.run_id)
    assert settled(name, skip=True) == 0
    assert f"has ended. `heartbit resume {short_id(call.run_id)}`" in capsys.readouterr().err


def test_given_a_local_run_that_died_then_its_doubt_is_listed_before_anybody_resumed_it(
    heartbit: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    task = f"[[text: Done.]] [[run: {uuid4()}]]"
    call = in_doubt(default_workspace(), task, asked=False)
    found = listed(LocalBackend(), capsys)
    assert str(call.run_id) not in {each["run_id"] for each in found["calls"]}
    [mine] = [each for each in found["unasked"] if each["run_id"] == str(call.run_id)]
    assert (mine["call_id"], mine["tool"], mine["arguments"]) == ("1.0", "http_request", ARGUMENTS)
    assert f"`heartbit resume {str(call.run_id)[:18]}`" in heartbit("resolve").out
    early = refused(call, confirm=True)
    assert early is not None
    assert (early[0], f"`heartbit resume {str(call.run_id)[:18]}`" in early[1]) == (1, True)

    left = heartbit("resume", str(call.run_id))
    assert (left.code, "heartbit resolve" in left.err) == (4, True)
    assert (
        pending_calls.of_run(
            LocalBackend(),
            str(call.run_id),
            None,
            resolution(confirm=True),
            OUTCOME,
        )
        == 0
    )
    assert heartbit("resume", str(call.run_id)).out == "Done.\n"
    assert str(call.run_id) not in str(listed(LocalBackend(), capsys))


def test_given_a_terminal_when_a_call_is_in_doubt_then_the_person_is_asked_inline(
    heartbit: Command,
) -> None:
    call = asked()
    with Terminal("resume", str(call.run_id)) as terminal:
        shown = terminal.sees(KEYS)
        terminal.types("a")
        terminal.sees("one of the letters in brackets: r, c, s or l.")
        terminal.sees(KEYS)
        terminal.types("s")
        assert terminal.ends() == (0, "Done.\n")
    for part in ("Nobody knows", "researcher", "POST", "taken back"):
        assert part in shown
    assert "Left as it is: http_request of researcher." in terminal.text
    decision = Decision.objects.get(run=call.run_id)
    assert (decision.verdict, decision.via) == ("skipped", "inline")


def test_given_a_server_when_a_call_is_settled_there_then_it_is_as_at_home(
    web: WebServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = asked()
    server = ServerBackend(Server(web.url, key_for(default_workspace())))
    found = listed(server, capsys)["calls"]
    assert str(call.run_id) in {each["run_id"] for each in found}
    name = str(call.run_id)
    assert pending_calls.of_run(server, name, None, resolution(retry=True), OUTCOME) == 0
    assert capsys.readouterr().out.startswith("To be made again: http_request of researcher: {")
    assert Run.objects.get(pk=call.run_id).status == "queued"
    with pytest.raises(HeartbitError, match="already retried by API key test"):
        pending_calls.of_run(server, name, None, resolution(skip=True), OUTCOME)


def test_given_a_doubt_when_the_run_is_shown_then_it_says_what_it_waits_for() -> None:
    build = Builder()
    build.seen(ROOT, "writer")
    build.event(ROOT, started())
    build.event(ROOT, answered(1, ("send", '{"to": "all"}')))
    build.event(ROOT, events.OutcomeRequested("1.0", "send", 1))
    said = 'writer        waits for the outcome of send {"to": "all"}, which is uncertain'
    assert event_lines(build.tree, build.updates[-1]) == [said]
    shown = [line.plain for line in render(build.tree, Canvas(100, START))]
    assert "waits for the outcome of send" in shown[0]
    assert "of unknown outcome: waits for a person to resolve it" in shown[1]
    resolved = {"status": "retried", "by": "anna"}
    build.event(ROOT, events.WaitResolved("outcome:1.0:1", resolved, "outcome", "1.0"))
    said = 'writer        sent again by anna: send {"to": "all"}'
    assert event_lines(build.tree, build.updates[-1]) == [said]
    assert build.tree.runs[ROOT].status == "queued"
    build.event(ROOT, events.RunQuarantined(3))
    build.event(ROOT, events.RunUnquarantined("anna"))
    assert not build.tree.runs[ROOT].over
    assert event_lines(build.tree, build.updates[-1]) == ["writer        let go on by anna"]
    build.event(ROOT, events.RunDiscarded("bert"))
    assert event_lines(build.tree, build.updates[-1]) == ["writer        discarded by bert"]
    assert build.tree.runs[ROOT].status == "cancelled"
