"""The sandbox ``docker`` against a recorded engine: what it asks for, and what it makes of answers.

Whether a real engine keeps its word is not tested here; ``Docker.problem`` asks it before use.
"""

from __future__ import annotations

import builtins
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.tools.sandbox.engine import IMAGE, Engine, engine
from tools.sandbox.choice import find_sandbox
from tools.sandbox.docker import Docker
from tools.sandbox.program import Limits, Program, SandboxError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_django.fixtures import Settings

    from tools.sandbox.program import Ended


@pytest.fixture
async def played() -> AsyncIterator[Engine]:
    place = Path(tempfile.mkdtemp(prefix="hb-"))  # as short as the path of a socket has to be
    async with engine(place) as found:
        yield found
    shutil.rmtree(place)


async def run(played: Engine, code: str, **how: Any) -> Ended:
    return await Docker(IMAGE, played.url).run(Program("python", code, **how))


async def test_a_program_has_its_files_and_leaves_some(played: Engine) -> None:
    code = """
import os, sys
print(open("in.txt").read(), os.getcwd().endswith("box"))
print("no", file=sys.stderr)
os.makedirs("out")
open("out/b.bin", "wb").write(bytes(range(256)))
os.symlink("/etc/passwd", "link")
sys.exit(3)
"""
    ended = await run(played, code, files={"in.txt": b"hi"})
    assert (ended.code, ended.ending, ended.sandbox) == (3, "exited", "docker")
    assert (ended.stdout, ended.stderr) == ("hi True\n", "no\n")
    assert ended.files == {"in.txt": b"hi", "out/b.bin": bytes(range(256))}
    assert ended.refused == ("'link' is not a plain file.",)
    [deleted] = played.deleted
    assert deleted.startswith("c0ffee?")
    assert "force=" in deleted


async def test_its_container_has_no_way_out_and_limits(played: Engine) -> None:
    limits = Limits(memory_bytes=2**28, processes=32)
    await run(played, "print(1)", limits=limits)
    [asked] = played.created
    host = asked["HostConfig"]
    assert (asked["User"], asked["NetworkDisabled"]) == ("65534:65534", True)
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
    assert (host["SecurityOpt"], host["Privileged"]) == (["no-new-privileges:true"], False)
    assert (host["Memory"], host["MemorySwap"]) == (2**28, 2**28)
    assert (host["PidsLimit"], host["NanoCpus"]) == (32, 10**9)
    assert set(host["Tmpfs"]) == {"/sandbox", "/tmp"}  # noqa: S108
    assert all("size=" in options and "nosuid" in options for options in host["Tmpfs"].values())
    assert not {"Binds", "Mounts", "Devices", "VolumesFrom", "CapAdd", "PidMode"} & host.keys()
    assert not [entry for entry in asked["Env"] if "HEARTBIT" in entry or "KEY" in entry]


@pytest.mark.parametrize(
    ("code", "limits", "ending"),
    [
        ("import time\ntime.sleep(60)", Limits(seconds=0.5), "out of time"),
        ("print('x' * 5000)", Limits(output_bytes=1000), "too much output"),
    ],
)
async def test_what_takes_too_much_is_ended(
    played: Engine, code: str, limits: Limits, ending: str
) -> None:
    ended = await run(played, code, limits=limits)
    assert (ended.code, ended.ending, ended.files) == (None, ending, {})
    assert len(ended.stdout) <= 1000
    assert len(played.deleted) == 1


@pytest.mark.parametrize("forged", [b"", b"no archive", bytes(100_000)])
async def test_an_output_that_is_none_is_a_sentence(played: Engine, forged: bytes) -> None:
    played.forged = forged
    with pytest.raises(SandboxError, match="did not run the program"):
        await run(played, "print(1)")
    assert len(played.deleted) == 1


async def test_it_fails_closed(
    played: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBIT_SANDBOX = "docker"
    with pytest.raises(SandboxError, match="HEARTBIT_SANDBOX_IMAGE is not set"):
        await find_sandbox()
    settings.HEARTBIT_SANDBOX_IMAGE = "absent"
    monkeypatch.setenv("DOCKER_HOST", played.url)
    with pytest.raises(SandboxError, match="The Docker engine refuses: No such image"):
        await find_sandbox()
    # The recorded engine has no walls, which the probe finds.
    assert "A container does not work (open: " in str(await Docker(IMAGE, played.url).problem())
    played.refuses = "OCI runtime create failed"
    with pytest.raises(SandboxError, match="refuses: OCI runtime create failed"):
        await run(played, "print(1)")
    assert played.deleted
    with pytest.raises(SandboxError, match="has no network"):
        await run(played, "print(1)", hosts=("example.org",))
    away = await Docker(IMAGE, "unix:///nowhere/engine.sock").problem()
    assert "Cannot connect to Docker Engine" in str(away)


async def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *how: Any) -> Any:
        if name == "aiodocker":
            raise ImportError(name)
        return real(name, *how)

    monkeypatch.setattr(builtins, "__import__", absent)
    assert "needs the extra `docker`: `" in str(await Docker(IMAGE).problem())
