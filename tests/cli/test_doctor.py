from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.conftest import NO_MODEL

if TYPE_CHECKING:
    from tests.cli.conftest import Command
    from tests.fleet import Worker


def test_a_sound_installation(heartbit: Command, worker: Worker) -> None:
    ended = heartbit("doctor", "--json")
    assert ended.code == 0
    assert ended.json["ok"] is True
    checks = {check["name"]: check for check in ended.json["checks"]}
    assert checks["keys"]["detail"] == "OPENAI_API_KEY"
    assert str(worker.pid) in checks["workers"]["detail"]
    assert {name for name, check in checks.items() if check["status"] == "ok"} >= {
        *("state directory", "embedded", "postgres", "migrations", "valkey", "direct database"),
        "workers",
    }


def test_each_problem_comes_with_its_mend(heartbit: Command) -> None:
    env = {"REDIS_URL": "redis://127.0.0.1:9/0", "HEARTBIT_PROVIDER": "opnai", **NO_MODEL}
    ended = heartbit("doctor", env=env)
    assert (ended.code, ended.err) == (1, "")
    assert "problem valkey" in ended.out
    assert "Check REDIS_URL" in ended.out
    assert "problem default model" in ended.out
    assert "note    keys" in ended.out
