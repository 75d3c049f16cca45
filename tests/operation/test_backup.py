"""A backup under work, and what becomes of it elsewhere: nothing happens twice by itself."""

from __future__ import annotations

import json
import secrets
import tarfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.utils import timezone

from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.choices import AgentApproval, DeliveryStatus, MixedData, RunStatus
from agents.models import Agent, Channel, Delivery, Run, ToolBinding, ToolCall
from heartbit_site.base.models import ProviderAccount
from scheduling.models import Firing, Schedule
from tests.chaos.processes import EffectsServer
from tests.conftest import new_workspace
from tests.elsewhere import Elsewhere, elsewhere
from tests.fleet import Worker, frozen, wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import WireServer

pytestmark = pytest.mark.usefixtures("database")
#: Longer than two sweeps: what would start by itself, has.
QUIET_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Origin:
    """What was there when the backup was made, and its file."""

    workspace: Workspace
    queue: str
    file: Path
    effects: EffectsServer
    ledger: Path
    flying: UUID
    queued: UUID
    careful: UUID
    delivery: int
    schedule: int

    def happened(self) -> list[str]:
        """The effects, in order."""
        return [json.loads(line)["op"] for line in self.ledger.read_text().splitlines()]


def agent(workspace: Workspace, name: str, queue: str, **settings: Any) -> Agent:
    made = Agent.objects.create(
        workspace=workspace,
        name=name,
        system_prompt="Be brief.",
        queue=queue,
        model="openai:fake",
        mixed_data=MixedData.ALLOW,
        **settings,
    )
    ToolBinding.objects.create(agent=made, tool="http_request")
    publish_agent(made)
    return made


def calling(server: EffectsServer, *ops: str) -> str:
    """A task that has these effects, one after the other."""
    words = []
    for number, op in enumerate(ops):
        request = json.dumps({"method": "POST", "url": f"{server.url}/do", "json": {"op": op}})
        words.append(f"[[{'then' if number else 'calls'}: http_request {request}]]")
    return " ".join(words)


@pytest.fixture(scope="module")
def origin(
    tmp_path_factory: pytest.TempPathFactory, wire_server: WireServer, heartbit: Command
) -> Iterator[Origin]:
    directory = tmp_path_factory.mktemp("backup")
    ledger, queue = directory / "effects.jsonl", f"q{secrets.token_hex(4)}"
    workspace = new_workspace()
    drive = Path(settings.HEARTBIT_DRIVE_DIR, f"{workspace.pk}")
    drive.mkdir(parents=True)
    (drive / "notes.txt").write_text("remember")
    account = ProviderAccount(workspace=workspace, provider="anthropic", enabled=False)
    save_provider_account(account, key="sk-1234567890")
    with EffectsServer(ledger=ledger, latency_ms=1000) as effects:
        reach = {"HEARTBIT_HTTP_ALLOWLIST": effects.url.removeprefix("http://")}
        agent(workspace, "courier", queue)
        agent(workspace, "clerk", f"{queue}-idle")
        agent(workspace, "careful", queue, approval=AgentApproval.EFFECTS)
        with Worker(queues=queue, environment=reach) as worker:
            careful = start_run(workspace, calling(effects, "paid"), agent="careful")
            wait_until(lambda: Run.objects.get(pk=careful).status == RunStatus.WAITING)
            queued = start_run(workspace, calling(effects, "queued"), agent="clerk")
            ended = start_run(workspace, "x", agent="clerk")
            cancel_run(workspace, ended, reason="done with")
            unsent = Delivery.objects.create(
                workspace=workspace,
                run_id=ended,
                position=0,
                kind="email",
                target={"kind": "email", "to": ["ada@example.org"]},
                next_at=timezone.now() + timedelta(hours=1),
            )
            Channel.objects.create(
                workspace=workspace,
                name="support",
                kind="email",
                agent="clerk",
                imap_host="imap.example.org",
            )
            soon = timezone.now() + timedelta(seconds=8)
            schedule = Schedule.objects.create(
                workspace=workspace,
                name="hourly",
                agent=Agent.objects.get(workspace=workspace, name="clerk"),
                task="[[text: tick]]",
                kind="interval",
                every_seconds=3600,
                time_zone="UTC",
                begins_at=soon,
                next_occurrence=soon,
                next_at=soon,
            )
            flying = start_run(workspace, calling(effects, "first", "second"), agent="courier")
            wait_until(lambda: "first" in ledger.read_text())
            with frozen(worker):  # so that the call is under way for as long as it takes
                command = heartbit.spawn("backup", str(directory), "--json")
                written = heartbit.end(command, seconds=180)
            assert written.code == 0, written.err
            assert ToolCall.objects.filter(run=flying, call_id="1.0", finished_at=None).exists()
            # The world goes on: the effects of the run, and the schedule.
            wait_until(lambda: Run.objects.get(pk=flying).finished_at, seconds=90)
            wait_until(lambda: Firing.objects.filter(schedule=schedule).exists(), seconds=30)
        yield Origin(
            workspace,
            queue,
            Path(written.json["path"]),
            effects,
            ledger,
            flying,
            queued,
            careful,
            unsent.pk,
            schedule.pk,
        )


@pytest.fixture(scope="module")
def there(origin: Origin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    """The backup, restored elsewhere."""
    reach = origin.effects.url.removeprefix("http://")
    directory = tmp_path_factory.mktemp("elsewhere") / "state"
    with elsewhere(
        directory, HEARTBIT_HTTP_ALLOWLIST=reach, HEARTBIT_WORKSPACE=origin.workspace.slug
    ) as place:
        restored = place("restore", str(origin.file), "--json")
        assert restored.code == 0, restored.err
        found = restored.json
        assert found["schedules"] == [f"{origin.workspace.slug}/hourly"]
        assert f"{origin.workspace.slug}/support" in found["channels"]
        assert found["keys"] == ["encryption_keys"]
        assert found["keys_here"] == []
        yield place


def test_it_is_its_owners_alone_and_names_its_parts(origin: Origin) -> None:
    assert origin.file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(origin.file) as file:
        names = file.getnames()
    assert names[0] == "database.dump"
    assert names[-1] == "manifest.json"
    assert {"keys/encryption_keys", f"drive/{origin.workspace.pk}/notes.txt"} <= set(names)


def test_files_and_keys_are_there(origin: Origin, there: Elsewhere) -> None:
    assert (there.directory / f"drive/{origin.workspace.pk}/notes.txt").read_text() == "remember"
    assert (there.directory / "encryption_keys").stat().st_mode & 0o777 == 0o600
    checks = {check["name"]: check for check in there("doctor", "--json").json["checks"]}
    assert checks["encryption keys"]["status"] == "ok"
    assert checks["migrations"]["status"] == "ok"
    assert "--held" in checks["held runs"]["fix"]


def test_what_may_have_been_sent_waits_for_a_person(origin: Origin, there: Elsewhere) -> None:
    status, error = there.row(
        "SELECT status, error FROM agents_delivery WHERE id = %s", origin.delivery
    )
    assert status == DeliveryStatus.FAILED
    assert error.startswith("Restored from the backup of ")
    enabled = "SELECT enabled FROM agents_channel WHERE workspace_id = %s"
    assert there.row(enabled, origin.workspace.pk) == (False,)
    firings = there.rows(
        "SELECT status FROM scheduling_firing WHERE schedule_id = %s", origin.schedule
    )
    assert firings == [("skipped",)]
    (following,) = there.row(
        "SELECT next_occurrence FROM scheduling_schedule WHERE id = %s", origin.schedule
    )
    assert following > timezone.now()


def test_runs_go_on_and_nothing_happens_twice_by_itself(origin: Origin, there: Elsewhere) -> None:
    happened = origin.happened()
    assert happened == ["first", "second"]  # the second one after the backup
    held = there("runs", "list", "--held", "--json").json["runs"]
    assert {run["id"] for run in held} == {str(origin.flying), str(origin.queued)}
    status = "SELECT status, home FROM agents_run WHERE id = %s"
    with there.worker(f"{origin.queue},{origin.queue}-idle,system"):
        time.sleep(QUIET_SECONDS)
        assert origin.happened() == happened
        assert there.row(status, origin.flying) == ("queued", "restored")
        shown = there("runs", "show", str(origin.flying)).err
        assert f"`heartbit runs release {origin.flying}`" in shown
        assert there.row(status, origin.careful) == ("waiting", "fleet")

        approved = there("approve", str(origin.careful), "1.0", "--yes")
        assert approved.code == 0, approved.err
        ended = wait_until(lambda: there.row(status, origin.careful)[0] == "succeeded")
        assert ended
        assert origin.happened() == [*happened, "paid"]

        assert there("runs", "release", str(origin.queued)).code == 0
        wait_until(lambda: there.row(status, origin.queued) == ("succeeded", "fleet"))
        assert origin.happened() == [*happened, "paid", "queued"]

        # A call that had begun is not made again: a released run asks about it.
        assert there("runs", "release", "--all").code == 0
        wait_until(lambda: there.row(status, origin.flying) == ("waiting", "fleet"))
        assert there("resolve", str(origin.flying), "1.0", "--skip").code == 0
        wait_until(lambda: there.row(status, origin.flying)[0] == "succeeded")
        assert origin.happened() == [*happened, "paid", "queued", "second"]
    types = there.rows(
        "SELECT type FROM agents_runevent WHERE run_id = %s AND type ~ 'rest|rele' ORDER BY seq",
        origin.flying,
    )
    assert types == [("run.restored",), ("run.released",)]


def test_a_place_that_is_not_empty_is_left_alone(origin: Origin, there: Elsewhere) -> None:
    before = there.row("SELECT count(*) FROM agents_run")
    refused = there("restore", str(origin.file))
    assert refused.code == 1
    assert refused.err == (
        "heartbit: The database is not empty: name an empty one, or add --replace to delete what "
        "is in it.\n"
    )
    unsaid = there("restore", str(origin.file), "--replace")
    assert unsaid.code == 2
    assert "--yes" in unsaid.err
    assert there.row("SELECT count(*) FROM agents_run") == before


def test_a_damaged_file_changes_nothing(origin: Origin, there: Elsewhere, tmp_path: Path) -> None:
    before = there.row("SELECT count(*) FROM agents_run")
    whole = bytearray(origin.file.read_bytes())
    broken = tmp_path / "broken.tar"
    for case in (whole[: len(whole) // 2], b"no tar", _flipped(whole)):
        broken.write_bytes(case)
        refused = there("restore", str(broken), "--replace", "--yes")
        assert refused.code == 1
        assert "is damaged or incomplete" in refused.err
        assert refused.err.count("\n") == 1
    assert there.row("SELECT count(*) FROM agents_run") == before


def _flipped(whole: bytearray) -> bytes:
    copy = bytearray(whole)
    copy[5000] ^= 1  # in the dump
    return bytes(copy)


def test_with_its_word_everything_continues(
    origin: Origin, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with elsewhere(tmp_path_factory.mktemp("moved") / "state") as place:
        moved = place("restore", str(origin.file), "--continue", "--json")
        assert moved.code == 0, moved.err
        assert moved.json["runs"] == 0
        assert moved.json["schedules"] == []
        status = "SELECT status, home FROM agents_run WHERE id = %s"
        assert place.row(status, origin.flying) == ("queued", "fleet")
        sent = place.row("SELECT status FROM agents_delivery WHERE id = %s", origin.delivery)
        assert sent == ("pending",)
        assert place.rows("SELECT 1 FROM agents_pause WHERE kind = 'all'") == []
