"""Install Python packages for programs of the sandbox: pinned, before any program runs.

    python -m tools.sandbox.packages requirements.txt /srv/heartbit-packages

A line names a version, and may name the hashes of its files, as ``pip-compile --generate-hashes``
writes them. The directory is replaced as a whole. ``HEARTBIT_SANDBOX_PACKAGES`` names it to the
workers or to the runner, which show it to programs in Python, read-only; programs install nothing
themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import ConfigurationError

#: Every installed package with its version and its file's hash; installed from it, a directory is
#: the same again.
LOCK: Final = "heartbit-packages.txt"
_PINNED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!]+")
_HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_FAILED: Final = 3


def install(requirements: Path, directory: Path) -> list[str]:
    """Install packages into a directory; return them with their versions.

    Only wheels are installed, so that no package's own code runs here. If a line has a hash, every
    package needs one, those that others depend on included: pip compares them.

    Raises:
        ConfigurationError: A line names no version, or pip cannot install the packages.
    """
    lines = _pinned(requirements)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as place:
        new = Path(place, "new")
        wanted, report = Path(place, "wanted.txt"), Path(place, "report.json")
        wanted.write_text("".join(f"{line}\n" for line in lines))
        more = ("--require-hashes",) if any("--hash=" in line for line in lines) else ()
        into = ("--target", str(new), "--report", str(report))
        _pip("install", "--only-binary", ":all:", *more, *into, "-r", str(wanted))
        locked = _locked(report)
        found = [line.partition(" ")[0] for line in locked]
        (new / LOCK).write_text("".join(f"{line}\n" for line in locked))
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


def _locked(report: Path) -> list[str]:
    """Return the installed packages of pip's report, each with its version and its file's hash."""
    rows = json.loads(report.read_text())["install"]
    return sorted(
        f"{row['metadata']['name']}=={row['metadata']['version']}"
        f" --hash=sha256:{row['download_info']['archive_info']['hashes']['sha256']}"
        for row in rows
    )


def _pinned(requirements: Path) -> list[str]:
    try:
        text = requirements.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{requirements} cannot be read: {error}") from None
    named = []
    # A line that ends with a backslash continues, and keeps its number.
    whole, number = "", 0
    for at, line in enumerate([*text.splitlines(), ""], start=1):
        number = number if whole else at
        part = line.partition("#")[0].strip()
        if part.endswith("\\"):
            whole += f"{part[:-1]} "
            continue
        words = f"{whole}{part}".split()
        whole = ""
        if words:
            _check(requirements, number, words)
            named.append(" ".join(words))
    if not named:
        raise ConfigurationError(f"{requirements} names no package.")
    return named


def _check(requirements: Path, number: int, words: Sequence[str]) -> None:
    place = f"{requirements}:{number}: {' '.join(words)[:80]!r}"
    if not _PINNED.fullmatch(words[0]):
        raise ConfigurationError(f"{place} names no version: write it like pandas==2.3.3.")
    if words[1:] and not all(map(_HASH.fullmatch, words[1:])):
        raise ConfigurationError(
            f"{place} has more than a version and hashes: write them like pandas==2.3.3 "
            "--hash=sha256:..., with 64 digits of lower case."
        )


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
