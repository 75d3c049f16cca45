"""deploy/kubernetes, as far as it can be checked without a cluster: each name of ours is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from agents.llm.providers import PROVIDERS
from heartbit_site.base.queues import DEFAULT
from heartbit_site.base.variables import DRAIN_SECONDS, SANDBOX_KEY, VARIABLES
from heartbit_site.cli import main as cli
from tools.sandbox.runner import PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
HERE: Final = ROOT / "deploy/kubernetes"
FILES: Final = sorted(HERE.rglob("*.yaml"))
OBJECTS: Final[list[tuple[Path, dict[str, Any]]]] = [
    (path, found) for path in FILES for found in yaml.safe_load_all(path.read_text())
]
#: Variables of providers, which the list of variables does not have.
KEYS: Final = {f"{name.upper()}_API_KEY" for name in PROVIDERS}
KNOWN: Final = {variable.name for variable in VARIABLES} | KEYS
METRIC: Final = re.compile(r"heartbit_\w+")


def of(kind: str) -> dict[str, dict[str, Any]]:
    return {found["metadata"]["name"]: found for _, found in OBJECTS if found["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    return {name: found["spec"]["template"]["spec"] for name, found in of("Deployment").items()}


def containers() -> dict[str, dict[str, Any]]:
    return {name: pod["containers"][0] for name, pod in pods().items()}


def test_every_file_is_named_by_its_kustomization() -> None:
    for path, found in OBJECTS:
        if path.name == "kustomization.yaml":
            beside = {file.name for file in path.parent.glob("*.yaml")} - {path.name}
            assert set(found["resources"]) == beside, path


def test_no_object_names_a_namespace_and_none_is_declared_twice() -> None:
    names = [
        (found["kind"], found["metadata"]["name"]) for _, found in OBJECTS if "metadata" in found
    ]
    assert len(names) == len(set(names))
    assert all("namespace" not in found.get("metadata", {}) for _, found in OBJECTS)
    assert not of("Secret"), "secrets are made by hand"


def test_selectors_find_their_pods() -> None:
    components = set()
    for name, found in of("Deployment").items():
        (component,) = found["spec"]["selector"]["matchLabels"].values()
        assert name == f"heartbit-{component}"
        assert found["spec"]["template"]["metadata"]["labels"] == {
            "app.kubernetes.io/component": component
        }
        components.add(component)
    for kind in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
        for name, found in of(kind).items():
            assert _components(found["spec"]) <= components, f"{kind} {name}"


def _components(value: Any) -> set[str]:
    """The components that a spec names, at any depth."""
    if isinstance(value, list):
        return set().union(*map(_components, value))
    if not isinstance(value, dict):
        return set()
    if value.get("key") == "app.kubernetes.io/component":
        return set(value["values"])
    mine = (
        {value["app.kubernetes.io/component"]} if "app.kubernetes.io/component" in value else set()
    )
    return mine.union(*map(_components, value.values()))


@pytest.mark.parametrize("name", ["heartbit-web", "heartbit-worker", "heartbit-beat"])
def test_commands_and_their_options_exist(name: str) -> None:
    program, command, *rest = containers()[name]["args"]
    assert program == "heartbit"
    known = {option for parameter in cli.load(command).params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known
    if "--queues" in rest:
        assert rest[rest.index("--queues") + 1] == ",".join(DEFAULT)


def test_variables_exist_and_no_secret_is_in_the_open() -> None:
    (config,) = of("ConfigMap").values()
    assert config["data"].keys() <= KNOWN
    assert all(isinstance(value, str) for value in config["data"].values())
    secret = {variable.name for variable in VARIABLES if variable.secret} | KEYS
    assert not config["data"].keys() & secret
    example = re.findall(r"^(\w+)=", (HERE / "secret.env.example").read_text(), re.MULTILINE)
    assert set(example) <= KNOWN & secret
    for name, container in containers().items():
        if name == "heartbit-runner":  # it has nothing to lose
            assert "envFrom" not in container
            assert [one["name"] for one in container["env"]] == [SANDBOX_KEY.name]
        else:
            assert container["envFrom"] == [
                {"configMapRef": {"name": "heartbit"}},
                {"secretRef": {"name": "heartbit"}},
            ]


def _probes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, container in containers().items():
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            if kind in container:
                yield name, kind, container[kind]


def test_probes_ask_what_is_answered() -> None:
    served = {
        "heartbit-web": {"/api/v1/health"},
        "heartbit-worker": {"/live", "/ready"},
    }
    source = (ROOT / "heartbit_site/health_server.py").read_text()
    assert all(f'"{path}"' in source for path in served["heartbit-worker"])
    asked: dict[str, set[str]] = {}
    for name, kind, probe in _probes():
        how = probe.get("httpGet") or probe["tcpSocket"]
        ports = {port["name"] for port in containers()[name]["ports"]}
        assert how["port"] in ports, f"{name} {kind}"
        if "httpGet" in probe:
            asked.setdefault(name, set()).add(how["path"])
    assert asked == served


def test_the_web_processs_probes_name_a_host_that_it_serves() -> None:
    (config,) = of("ConfigMap").values()
    hosts = config["data"]["HEARTBIT_ALLOWED_HOSTS"].split(",")
    for name, _, probe in _probes():
        if name == "heartbit-web" and "httpGet" in probe:
            (header,) = probe["httpGet"]["httpHeaders"]
            assert header["name"] == "Host"
            assert header["value"] in hosts


def test_ports_are_those_of_the_commands() -> None:
    web, worker = containers()["heartbit-web"], containers()["heartbit-worker"]
    assert str(web["ports"][0]["containerPort"]) == web["args"][web["args"].index("--port") + 1]
    address = worker["args"][worker["args"].index("--bind") + 1]
    assert address == f"0.0.0.0:{worker['ports'][0]['containerPort']}"
    assert containers()["heartbit-runner"]["ports"][0]["containerPort"] == PORT
    text = (HERE / "code/kustomization.yaml").read_text()
    assert f"http://heartbit-runner:{PORT}" in text


def test_a_worker_that_drains_is_not_killed_before() -> None:
    (config,) = of("ConfigMap").values()
    drain = float(config["data"][DRAIN_SECONDS.name])
    assert pods()["heartbit-worker"]["terminationGracePeriodSeconds"] > drain


def test_pods_can_do_little() -> None:
    for name, pod in pods().items():
        container = pod["containers"][0]
        assert pod["automountServiceAccountToken"] is False, name
        # Kubernetes would set HEARTBIT_PORT and others, for the service `heartbit`.
        assert pod["enableServiceLinks"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        user = re.search(r"--uid (\d+)", (ROOT / "Dockerfile").read_text())
        assert user is not None
        assert pod["securityContext"]["runAsUser"] == int(user[1]), name
        assert container["securityContext"]["allowPrivilegeEscalation"] is False, name
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
        assert "memory" in container["resources"]["limits"], name
        if name != "heartbit-runner":
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name


def test_mounts_have_volumes_and_claims() -> None:
    claims = of("PersistentVolumeClaim").keys()
    for name, pod in pods().items():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]
        assert sorted(mounts) == sorted(volumes), name
        for volume in volumes.values():
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims, name
    # Whoever erases a person's runs rewrites the archives, in the web process as well.
    for name in ("heartbit-web", "heartbit-worker"):
        places = [mount["mountPath"] for mount in containers()[name]["volumeMounts"]]
        assert {"/var/lib/heartbit/archive", "/var/lib/heartbit/drive"} <= set(places)


def test_workers_are_scaled_by_metrics_that_exist() -> None:
    (scaled,) = of("ScaledObject").values()
    assert scaled["spec"]["scaleTargetRef"]["name"] in of("Deployment")
    documented = (ROOT / "docs/reference/metrics.md").read_text()
    found = set()
    for trigger in scaled["spec"]["triggers"]:
        assert trigger["metricType"] == "Value"
        float(trigger["metadata"]["threshold"])
        found |= set(METRIC.findall(trigger["metadata"]["query"]))
    assert "heartbit_queue_oldest_seconds" in found
    assert all(f"`{name}`" in documented for name in found)
    queues = re.search(r'queue=~"([^"]+)"', scaled["spec"]["triggers"][0]["metadata"]["query"])
    assert queues is not None
    assert queues[1].split("|") == list(DEFAULT)


def test_patches_meet_what_they_change() -> None:
    for path, found in OBJECTS:
        for patch in found.get("patches", ()):
            target = of(patch["target"]["kind"])[patch["target"]["name"]]
            for step in yaml.safe_load(patch["patch"]):
                *parents, last = step["path"].strip("/").split("/")
                place: Any = target
                for name in parents:
                    place = place[name]
                exists = last in place if isinstance(place, dict) else last == "-"
                assert exists == (step["op"] != "add" or last == "-"), f"{path}: {step['path']}"


def test_the_image_is_pinned_to_this_version() -> None:
    (kustomization,) = [found for path, found in OBJECTS if path == HERE / "kustomization.yaml"]
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert kustomization["images"] == [{"name": "heartbit", "newTag": version[1]}]
    assert {container["image"] for container in containers().values()} == {"heartbit"}
