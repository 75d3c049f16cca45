"""Programs that try to get out of a sandbox, or to hurt what is beside it.

Each writes ESCAPED if it got somewhere. Those that need something of the host to reach name it as
``{port}`` (a server on loopback), ``{secret}`` (a file) and ``{socket}`` (a Unix socket).
"""

from __future__ import annotations

from typing import Final

from tests.sizes import sized
from tools.sandbox.program import Limits

#: What a greedy program is given.
SMALL: Final = Limits(
    seconds=sized(1, full=2), memory_bytes=128 * 1024 * 1024, processes=32, disk_bytes=16_000_000
)
#: Programs that must not write ESCAPED, by name.
ESCAPES: Final = {
    "the host's loopback": """
import socket
socket.create_connection(("127.0.0.1", {port}), 2); print("ESCAPED")
""",
    "the metadata service": """
import socket
socket.create_connection(("169.254.169.254", 80), 2); print("ESCAPED")
""",
    "a name server": """
import socket
print("ESCAPED", socket.gethostbyname("example.org"))
""",
    "a public address over UDP": """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)); print("ESCAPED")
""",
    "a Unix socket by path": """
import socket
socket.socket(socket.AF_UNIX).connect("{socket}"); print("ESCAPED")
""",
    "an abstract Unix socket": """
import socket
socket.socket(socket.AF_UNIX).connect("\\0{socket}"); print("ESCAPED")
""",
    "the virtual machine's host": """
import socket
socket.socket(40, socket.SOCK_STREAM); print("ESCAPED")
""",
    "netlink": """
import socket
socket.socket(16, socket.SOCK_RAW, 0); print("ESCAPED")
""",
    "packets": """
import socket
socket.socket(17, socket.SOCK_RAW, 3); print("ESCAPED")
""",
    "the kernel's ciphers": """
import socket
socket.socket(38, socket.SOCK_SEQPACKET, 0); print("ESCAPED")
""",
    "a file of the host": """
print("ESCAPED", open("{secret}").read())
""",
    "files of other places": """
import os
places = "/etc/passwd /etc/shadow /root /home /var /sys/kernel /proc/1/root/root /proc/1/root/home"
for place in places.split():
    if os.path.exists(place):
        print("ESCAPED", place)
""",
    "the environment of the worker": """
import os
for process in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{process}/environ", "rb") as environ:
        for entry in environ.read().split(b"\\0"):
            usual = b"PATH PWD OLDPWD HOME TMPDIR LANG PYTHONPATH SHLVL _".split()
            if entry and entry.partition(b"=")[0] not in usual:
                print("ESCAPED", entry)
""",
    "signals to others": """
import os, signal
own = len([one for one in os.listdir("/proc") if one.isdigit()])
if own > 10:
    print("ESCAPED", own)
os.kill(4_000_000, signal.SIGKILL)
print("ESCAPED")
""",
    "writing outside": """
import os
for place in ("/usr/x", "/x", "/code/x", "/dev/x", "/proc/sys/kernel/hostname", "/bin/x", "/etc/x"):
    try:
        open(place, "w").write("x")
    except OSError:
        continue
    print("ESCAPED", place)
""",
    "new namespaces": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x04000000, 0x08000000):
    if libc.unshare(flags) == 0:
        print("ESCAPED", hex(flags))
""",
    "mounts": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or libc.umount2(b"/proc", 2) == 0:
    print("ESCAPED")
""",
    "machinery of the kernel": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
ptrace, bpf, keyctl, io_uring, userfaultfd, perf = 101, 321, 250, 425, 323, 298
for number in (ptrace, bpf, keyctl, io_uring, userfaultfd, perf, 246, 175, 304, 310, 435):
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0:
        print("ESCAPED", number)
""",
    "more processors": """
import os
os.sched_setaffinity(0, range(1024)); print("ESCAPED")
""",
    "a better place in the queue": """
import os
for step in (
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
):
    try:
        step()
    except OSError:
        continue
    print("ESCAPED")
""",
    "memory that no process counts": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(0, 50_000_000, 0o1600) >= 0 or libc.msgget(0, 0o1600) >= 0:
    print("ESCAPED")
""",
    "calls of newer kernels": """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for number in range(463, 520):
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != errno.ENOSYS:
        print("ESCAPED", number)
""",
    "limits of the process": """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        continue
    print("ESCAPED", kind)
""",
    "the processes around it": """
import os
for process in (1, os.getppid()):
    status = dict(line.split(":", 1) for line in open(f"/proc/{process}/status"))
    if status["Seccomp"].strip() != "2" or int(status["CapEff"], 16):
        print("ESCAPED", process, "has no filter, or powers")
    for number in os.listdir(f"/proc/{process}/fd"):
        way = f"/proc/{process}/fd/{number}"
        if not os.readlink(way).startswith("socket:"):
            continue
        try:
            os.open(way, os.O_RDWR)
        except OSError:
            continue
        print("ESCAPED", way)
    if os.path.exists(f"/proc/{process}/root/etc/ssl"):
        print("ESCAPED", process, "sees the host's files")
""",
    "memory of the processes around it": """
import os
for process in {1, os.getppid()}:
    try:
        memory = os.open(f"/proc/{process}/mem", os.O_RDWR)
    except OSError:
        continue
    print("ESCAPED", process, memory)
""",
    "the control group": """
import glob, os
found = glob.glob("/sys/fs/cgroup/*")
if found:
    print("ESCAPED", found)
""",
    "input of a terminal": """
import fcntl
fcntl.ioctl(0, 0x5412, b"x"); print("ESCAPED")
""",
    "another architecture's calls": """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid of i386); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("ESCAPED", ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""",
    "becoming root": """
import os
for step in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chown("/box", 0, 0)):
    try:
        step()
    except OSError:
        continue
    print("ESCAPED")
if os.getuid() == 0:
    print("ESCAPED")
""",
    "descriptors of the worker": """
import os
for number in range(3, 64):
    try:
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue
    if "heartbit" in target or target.startswith(("/work", "/root", "socket:")):
        print("ESCAPED", target)
""",
    "devices": """
import os
for name in os.listdir("/dev"):
    if name not in (
        "null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm",
        "stdin", "stdout", "stderr", "fd", "core",
    ):
        print("ESCAPED", name)
""",
}

#: Those of ``ESCAPES`` that a program which was granted the host ``localhost`` tries as well.
NETWORK: Final = (
    *("the host's loopback", "the metadata service", "a name server", "netlink", "packets"),
    *("a public address over UDP", "a Unix socket by path", "an abstract Unix socket"),
    *("the virtual machine's host", "a file of the host", "files of other places"),
    *("new namespaces", "descriptors of the worker", "becoming root"),
)

#: A program that was granted ``localhost``: it reaches that by both ways, and no other host.
GRANTED: Final = r"""
import http.client, socket, urllib.error, urllib.request
print("REACHED", urllib.request.urlopen("http://localhost:{port}/").read().decode())
tunnel = http.client.HTTPConnection("127.0.0.1", 3128)
tunnel.set_tunnel("LOCALHOST", {port})
tunnel.request("GET", "/")
print("REACHED", tunnel.getresponse().read().decode())

hosts = "127.0.0.1:{port} [::1]:{port} 0x7f000001:{port} 2130706433:{port} example.org "
hosts += "169.254.169.254 localhost.example.org:{port} ip6-localhost:{port} "
hosts += "localhost@127.0.0.1:{port}"
for host in hosts.split():
    try:
        print("ESCAPED", host, urllib.request.urlopen(f"http://{host}/").read())
    except (urllib.error.URLError, http.client.HTTPException):
        pass
for head in (
    b"CONNECT 127.0.0.1:{port} HTTP/1.1",
    b"CONNECT localhost:{port}\\@127.0.0.1:{port} HTTP/1.1",
    b"CONNECT localhost\0.example.org:{port} HTTP/1.1",
    b"GET http://localhost:x@127.0.0.1:{port}/ HTTP/1.1",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}",
    b"GET gopher://localhost:{port}/ HTTP/1.1",
    b"x" * 100_000,
):
    way = socket.create_connection(("127.0.0.1", 3128))
    try:
        way.sendall(head + b"\r\n\r\n")
        answer = way.recv(99)
    except OSError:
        continue
    if answer and not answer.startswith(b"HTTP/1.1 4"):
        print("ESCAPED", head, answer)
held = []
for _ in range(100):  # more connections than the proxy holds
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect("/code/proxy")
    except OSError:
        break
    held.append(one)
print("END")
"""

#: Programs that use up what they can get; each has to end within its limits.
GREEDY: Final = {
    "memory": "x = [bytearray(10_000_000) for _ in range(10_000)]",
    "memory of many": """
import os
for _ in range(16):
    if os.fork() == 0:
        x = bytearray(300_000_000)
        for i in range(0, len(x), 4096):
            x[i] = 1
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
""",
    "forks": """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    "threads": """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(60,)).start()
""",
    "processor time": "while True: pass",
    "deafness": """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
time.sleep(600)
""",
    "disk": """
for name in range(10_000):
    with open(f"{name}", "wb") as file:
        file.write(bytes(1_000_000))
""",
    "one file": """
with open("x", "wb") as file:
    for _ in range(10_000):
        file.write(bytes(1_000_000))
""",
    "shared memory": """
for name in range(10_000):
    with open(f"/dev/shm/{name}", "wb") as file:
        file.write(bytes(1_000_000))
""",
    "output": "while True: print('x' * 100_000)",
    "processors": """
import os, time
for _ in range(7):
    if os.fork() == 0:
        break
while True:
    pass
""",
    "pipes": """
import fcntl, os
ends = []
while True:
    ends.append(os.pipe())
    fcntl.fcntl(ends[-1][1], 1031, 1 << 20)  # F_SETPIPE_SZ
    os.write(ends[-1][1], bytes(1 << 20))
""",
    "names": """
for name in range(10_000_000):
    open(f"/tmp/{name}", "w").close()
""",
    "open files": "files = [open('/dev/null') for _ in range(100_000)]",
}

#: Leaves a process behind that outlives its parent.
DAEMON: Final = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print("left it")
"""
