"""The filter of system calls that a sandboxed program may make (seccomp, classic BPF).

Refused are those that reach the kernel's own machinery (modules, BPF, keys, io_uring, tracing,
mounts and new namespaces) and all sockets but those for TCP, UDP and Unix in the sandbox's own
empty network: ``--unshare-net`` alone leaves AF_VSOCK open, which reaches a virtual machine's host.
Numbers are those of linux/arch/x86/entry/syscalls/syscall_64.tbl.
"""

from __future__ import annotations

import struct
from typing import Final

MACHINE: Final = "x86_64"

_AUDIT_ARCH: Final = 0xC000003E
_X32_BIT: Final = 0x40000000
_DENIED: Final = {
    "shmget": 29,  # memory that no limit of a process counts
    "msgget": 68,
    "ptrace": 101,
    "syslog": 103,
    "personality": 135,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "vhangup": 153,
    "modify_ldt": 154,
    "pivot_root": 155,
    "adjtimex": 159,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "sched_setaffinity": 203,  # it has one processor
    "clock_settime": 227,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "unshare": 272,
    "move_pages": 279,
    "perf_event_open": 298,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "sched_setattr": 314,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
}
_FIRST_UNKNOWN: Final = 463  # the calls of newer kernels: as if this one had none of them
_IOCTL, _SOCKET, _CLONE, _CLONE3 = 16, 41, 56, 435
_NEW_NAMESPACES: Final = 0x7E020080  # CLONE_NEWNS ... CLONE_NEWNET, CLONE_NEWTIME
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # put input into a terminal
_FAMILIES: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6

_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24  # offsets in struct seccomp_data
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_EPERM, _ENOSYS, _NO_FAMILY = 0x00050001, 0x00050026, 0x00050061


def build_filter() -> bytes:
    """Return the filter as an array of ``struct sock_filter``, as ``bwrap --seccomp`` reads it."""
    steps: list[bytes] = []

    def add(code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        steps.append(struct.pack("<HBBI", code, if_true, if_false, value))

    add(_LOAD, _ARCH)
    add(_EQUAL, _AUDIT_ARCH, 1)
    add(_RETURN, _KILL)
    add(_LOAD, _NUMBER)
    add(_AT_LEAST, _X32_BIT, 0, 1)
    add(_RETURN, _KILL)
    add(_AT_LEAST, _FIRST_UNKNOWN, 0, 1)
    add(_RETURN, _ENOSYS)
    for number in _DENIED.values():
        add(_EQUAL, number, 0, 1)
        add(_RETURN, _EPERM)
    add(_EQUAL, _CLONE3, 0, 1)  # its flags lie in memory: the C library falls back to clone
    add(_RETURN, _ENOSYS)
    add(_EQUAL, _CLONE, 0, 4)
    add(_LOAD, _ARGUMENT_0)
    add(_HAS_BIT, _NEW_NAMESPACES, 0, 1)
    add(_RETURN, _EPERM)
    add(_RETURN, _ALLOW)
    add(_EQUAL, _IOCTL, 0, 5)
    add(_LOAD, _ARGUMENT_1)
    add(_EQUAL, _TIOCSTI, 1)
    add(_EQUAL, _TIOCLINUX, 0, 1)
    add(_RETURN, _EPERM)
    add(_RETURN, _ALLOW)
    add(_EQUAL, _SOCKET, 0, len(_FAMILIES) + 2)
    add(_LOAD, _ARGUMENT_0)
    for index, family in enumerate(_FAMILIES):
        add(_EQUAL, family, len(_FAMILIES) - index)
    add(_RETURN, _NO_FAMILY)
    add(_RETURN, _ALLOW)
    return b"".join(steps)
