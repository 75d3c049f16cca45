"""Install Python packages for programs of the sandbox: pinned, before any program runs.

    python -m tools.sandbox.packages requirements.txt /srv/heartbit-packages

The directory is replaced as a whole. ``HEARTBIT_SANDBOX_PACKAGES`` names it to the workers or to
the runner, which show it to programs in Python, read-only; programs install nothing themselves.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import ConfigurationError

#: Every installed package with its version; installed from it, a directory is the same again.
LOCK: Final = "heartbit-packages.txt"
_PINNED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!]+")
_FAILED: Final = 3


def install(requirements: Path, directory: Path) -> list[str]:
    """Install packages into a directory; return them with their versions.

    Only wheels are installed, so that no package's own code runs here.

    Raises:
        ConfigurationError: A line names no version, or pip cannot install the packages.
    """
    lines = _pinned(requirements)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as place:
        new = Path(place, "new")
        _pip("install", "--only-binary", ":all:", "--target", str(new), *lines)
        found = _pip("freeze", "--path", str(new)).splitlines()
        (new / LOCK).write_text("".join(f"{line}\n" for line in found))
        for path in (new, *new.rglob("*")):  # programs run as another user
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        if directory.exists():
            if not (directory / LOCK).exists() and any(directory.iterdir()):
                raise ConfigurationError(
                    f"{directory} has other files: name a directory that is empty or not there."
                )
            directory.rename(Path(place, "old"))
        new.rename(directory)
    return found


def _pinned(requirements: Path) -> list[str]:
    try:
        lines = [line.partition("#")[0].strip() for line in requirements.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{requirements} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        if line and not _PINNED.fullmatch(line):
            raise ConfigurationError(
                f"{requirements}:{number}: {line[:80]!r} names no version: write it like "
                "pandas==2.3.3."
            )
    named = [line for line in lines if line]
    if not named:
        raise ConfigurationError(f"{requirements} names no package.")
    return named


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  words checked above
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise ConfigurationError(f"pip could not {words[0]} the packages: {said[-1][:300]}")
    return done.stdout


def main() -> int:
    """Install; return 3 if that cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.sandbox.packages",
        description="Install pinned Python packages for HEARTBIT_SANDBOX_PACKAGES.",
    )
    parser.add_argument("requirements", type=Path, help="lines such as pandas==2.3.3")
    parser.add_argument("directory", type=Path, help="is replaced as a whole")
    given = parser.parse_args()
    try:
        found = install(given.requirements, given.directory.absolute())
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"HEARTBIT_SANDBOX_PACKAGES={given.directory.absolute()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
