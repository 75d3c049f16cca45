"""Each release's installation, continued by today's code: migrated, whole, and at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.elsewhere import elsewhere
from tests.fleet import wait_until
from tests.upgrades import releases

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet import WireServer


def test_there_is_one_to_begin_with() -> None:
    assert releases.version_of(releases.kept()[0]) == "0.1.0"
    assert all(path.stat().st_size <= releases.MOST_BYTES for path in releases.kept())


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("release", releases.kept(), ids=releases.version_of)
def test_a_release_is_continued(release: Path, tmp_path: Path, wire_server: WireServer) -> None:
    backup = tmp_path / "backup.tar"
    releases.unpack(release, backup)
    model = {"OPENAI_BASE_URL": wire_server.url, "OPENAI_API_KEY": "test"}
    with elsewhere(tmp_path / "state", **model, **releases.KEYS) as there:
        restored = there("restore", str(backup), "--json")
        assert restored.code == 0, restored.err
        assert restored.json["heartbit"] == releases.version_of(release)
        assert restored.json["runs"] == 0  # the only live tree waits for a person

        doctor = there("doctor", "--json")
        failed = [check for check in doctor.json["checks"] if check["status"] == "fail"]
        assert failed == []
        names = {check["name"]: check["detail"] for check in doctor.json["checks"]}
        assert names["migrations"] == "the tables are current"
        assert names["encryption keys"] == "all stored secrets have a key that is here"
        assert there("audit", "verify").code == 0

        runs = there("runs", "list", "--json").json["runs"]
        (waiting,) = [run for run in runs if run["status"] == "waiting"]
        (ended,) = [run for run in runs if run["task"] == "[[text: Done.]]"]
        assert there("result", ended["id"]).out == "Done.\n"
        assert there("state", "get", "greeting").out.strip() in ("hello", '"hello"')
        memories = there("memory", "list", "--json").json["memories"]
        assert [memory["text"] for memory in memories] == ["The office opens at nine."]
        (schedule,) = there("schedules", "list", "--json").json["schedules"]
        assert (schedule["name"], schedule["enabled"]) == ("yearly", True)

        with there.worker("agents,system"):
            (call,) = there("approve", "--json").json["calls"]
            decided = there("approve", call["run_id"], call["call_id"], "--yes")
            assert decided.code == 0, decided.err
            status = "SELECT status FROM agents_run WHERE id = %s"
            wait_until(lambda: there.row(status, waiting["id"]) == ("succeeded",), seconds=60)
            (thread,) = there("conversations", "list", "--json").json["conversations"]
            posted = there("conversations", "post", thread["id"], "[[text: Again.]]", "--json").json
            wait_until(lambda: there.row(status, posted["id"]) == ("succeeded",), seconds=60)
