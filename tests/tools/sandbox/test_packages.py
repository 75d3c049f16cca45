"""Python packages that an administrator chooses for programs of the sandbox."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.errors import ConfigurationError
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.packages import LOCK, install
from tools.sandbox.program import Program, SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

WHEEL = "bees-1.0-py3-none-any.whl"
INFO = "bees-1.0.dist-info"
FILES = {
    "bees/__init__.py": "count = 42\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: bees\nVersion: 1.0\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with one package, which pip found on this machine; every user may enter it."""
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{INFO}/RECORD", "".join(f"{name},,\n" for name in (*FILES,)))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "wanted.txt").write_text("bees==1.0  # of the apiary\n")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place = Path(folder, "packages")
        assert install(tmp_path / "wanted.txt", place) == ["bees==1.0"]
        yield place


async def test_a_program_imports_them_and_can_change_none(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import bees\nprint(bees.count)\nopen('/packages/bees/__init__.py', 'w')"
    without = await Bubblewrap().run(Program("python", code))
    assert "No module named 'bees'" in without.stderr
    monkeypatch.setenv("HEARTBIT_SANDBOX_PACKAGES", str(packages))
    ended = await Bubblewrap().run(Program("python", code))
    assert ended.stdout == "42\n", ended.stderr
    assert "Read-only file system" in ended.stderr
    own = await Bubblewrap().run(
        Program("python", "import bees\nprint(bees.x)", {"bees.py": b"x=1"})
    )
    assert own.stdout == "1\n", "the program's own folder comes first"
    monkeypatch.setenv("HEARTBIT_SANDBOX_PACKAGES", str(packages / "gone"))
    with pytest.raises(SandboxError, match="which is no directory where the workers run"):
        await Bubblewrap().run(Program("python", code))


def test_they_are_pinned_and_replaced_as_a_whole(packages: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256((tmp_path / WHEEL).read_bytes()).hexdigest()
    assert (packages / LOCK).read_text() == f"bees==1.0 --hash=sha256:{digest}\n"
    assert install(packages / LOCK, packages) == ["bees==1.0"]
    for text in ("bees", "bees>=1", "-r other.txt", "--index-url=x", "./bees.whl"):
        (tmp_path / "wanted.txt").write_text(text)
        with pytest.raises(ConfigurationError, match=r"wanted\.txt:1: .* names no version"):
            install(tmp_path / "wanted.txt", packages)
    (tmp_path / "wanted.txt").write_text("wasps==1.0")
    with pytest.raises(ConfigurationError, match="pip could not install the packages"):
        install(tmp_path / "wanted.txt", packages)
    assert (packages / "bees").is_dir(), "what was there stays"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    with pytest.raises(ConfigurationError, match="has other files"):
        install(packages / LOCK, tmp_path / "other")


def test_a_file_with_another_hash_is_not_installed(packages: Path, tmp_path: Path) -> None:
    right = f"--hash=sha256:{hashlib.sha256((tmp_path / WHEEL).read_bytes()).hexdigest()}"
    wrong, wanted = f"--hash=sha256:{'0' * 64}", tmp_path / "wanted.txt"
    wanted.write_text(f"bees==1.0 \\\n    {wrong} \\\n    {right}\n")
    assert install(wanted, packages) == ["bees==1.0"]
    for text in (f"bees==1.0 {wrong}", f"bees==1.0 {right}\nants==1.0"):
        wanted.write_text(text)
        with pytest.raises(ConfigurationError, match="pip could not install the packages"):
            install(wanted, packages)
    for more in ("--index-url=x", f"--hash=md5:{'0' * 32}", "--hash=sha256:0", "ants==1.0"):
        wanted.write_text(f"\nbees==1.0 {more}")
        with pytest.raises(ConfigurationError, match=r"wanted\.txt:2: .* more than a version and"):
            install(wanted, packages)
    assert (packages / "bees").is_dir(), "what was there stays"
