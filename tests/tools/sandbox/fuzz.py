"""A program that makes random system calls, and looks for a way out after each few."""

from __future__ import annotations

import os
from typing import Final

from tests.sizes import sized

#: Seconds of random system calls that each sandbox stands: `make security FUZZ=600`.
VARIABLE: Final = "HEARTBIT_FUZZ_SECONDS"


def fuzz_seconds() -> float:
    """How long it takes."""
    return float(os.environ.get(VARIABLE) or sized(2, full=20))


#: ``{seed}``: of its choices; others as in ``attacks``. A child makes the calls, since many of them
#: end it. Arguments are small numbers, limits, flags, descriptors and addresses of a buffer.
FUZZ: Final = """
import ctypes, os, random, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
random.seed({seed})
LEFT_OUT = {34, 35, 230, 23, 7, 270, 271, 219, 202, 60, 231, 15}  # waits, and its own end
LEFT_OUT |= {62, 109, 112, 129, 200, 234, 297, 424}  # signals, which would only end this program
space = ctypes.create_string_buffer(65536)
words = [b"/etc/passwd", b"/proc/1/root", b"{secret}", b"/", b"tmpfs", b"proc", b"/sys", b"/code"]
place = ctypes.addressof(space)
for index, word in enumerate(words):
    ctypes.memmove(place + 256 * index, word, len(word))

def argument():
    kind = random.randrange(8)
    if kind < 2:
        return random.randrange(8)
    if kind == 2:
        return place + 256 * random.randrange(len(words))
    if kind == 3:
        return place + random.randrange(32768)
    if kind == 4:
        return 1 << random.randrange(63)
    if kind == 5:
        return random.getrandbits(64)
    if kind == 6:
        return random.choice((-1, -100, 0x7FFFFFFF, 0x10000000, 0x7E020080, 4096, 256))
    return random.randrange(512)

def look():
    seen = {"{secret}": "canary", "/etc/passwd": "root:", "/proc/1/environ": "KEY="}
    for way, holds in seen.items():
        try:
            found = open(way, errors="replace").read(4096)  # calls make files of such names here
        except OSError:
            continue
        if holds in found:
            print("ESCAPED", way, flush=True)
    if os.getuid() == 0:
        print("ESCAPED root", flush=True)
    status = open("/proc/self/status").read()
    if "CapEff:\\t0000000000000000" not in status or "Seccomp:\\t2" not in status:
        print("ESCAPED powers", flush=True)
    for family, to in (
        (socket.AF_INET, ("127.0.0.1", {port})),
        (socket.AF_UNIX, "{socket}"),
        (socket.AF_UNIX, "\\0{socket}"),
    ):
        with socket.socket(family) as one:
            try:
                one.connect(to)
            except OSError:
                continue
            print("ESCAPED", to, flush=True)

def fuzz(seed):
    random.seed(seed)
    signal.alarm(1)
    for made in range(60):
        number = random.randrange(470)
        if number in LEFT_OUT:
            continue
        os.pwrite(done, (made + 1).to_bytes(4, "little"), 0)
        given = (ctypes.c_ulong(argument() & (2**64 - 1)) for _ in range(6))
        libc.syscall(ctypes.c_long(number), *given)
        if made % 10 == 0:
            look()

began = time.monotonic()
done = os.open("/tmp/done", os.O_RDWR | os.O_CREAT)
while time.monotonic() - began < 2.5:
    seed = random.getrandbits(32)
    os.pwrite(done, bytes(4), 0)
    child = os.fork()
    if child == 0:
        try:
            fuzz(seed)
        except BaseException:  # what the calls have broken in this process
            pass
        os._exit(0)
    os.waitpid(child, 0)
    print("CALLS", int.from_bytes(os.pread(done, 4, 0), "little"), flush=True)
look()
"""
