"""The system call filter of sandboxed programs (seccomp, classic BPF).

It denies calls that reach kernel facilities (modules, BPF, keys, io_uring, tracing, mounts and new
namespaces) and all sockets except TCP, UDP and Unix sockets in the sandbox's own empty network:
``--unshare-net`` alone leaves AF_VSOCK open, which reaches a virtual machine's host. The numbers
are from linux/arch/x86/entry/syscalls/syscall_64.tbl.
"""

from __future__ import annotations

from typing import Final

from heartbit_site.base import reader_walls as bpf

MACHINE: Final = bpf.X86_64

#: Denied system calls, grouped by effect.
_DENIED: Final = (
    *(29, 68),  # shmget, msgget: memory that no limit of a process counts
    *(101, 310, 311, 312, 440),  # ptrace, process_vm_readv and _writev, kcmp, process_madvise
    *(103, 135, 153, 163),  # syslog, personality, vhangup, acct
    *(142, 144, 203, 314),  # sched_setparam, _setscheduler, _setaffinity, _setattr: one processor
    *(154, 172, 173),  # modify_ldt, iopl, ioperm
    *(256, 279, 447),  # migrate_pages, move_pages, memfd_secret
    *(155, 161, 165, 166, 167, 168),  # pivot_root, chroot, mount, umount2, swapon, swapoff
    *(159, 164, 227, 305),  # adjtimex, settimeofday, clock_settime, clock_adjtime
    *(169, 170, 171, 179, 443),  # reboot, sethostname, setdomainname, quotactl, quotactl_fd
    *(175, 176, 313),  # init_module, delete_module, finit_module
    *(246, 320),  # kexec_load, kexec_file_load
    *(248, 249, 250),  # add_key, request_key, keyctl
    *(272, 308, 428, 429, 430, 431, 432, 433, 442),  # unshare, setns, and the newer ways to mount
    *(298, 321, 323, 425, 426, 427),  # perf_event_open, bpf, userfaultfd, io_uring
    *(303, 304, 438),  # name_to_handle_at, open_by_handle_at, pidfd_getfd
)
_IOCTL, _SOCKET = 16, 41
_NEW_NAMESPACES: Final = 0x7E020080  # CLONE_NEWNS ... CLONE_NEWNET, CLONE_NEWTIME
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # put input into a terminal
_FAMILIES: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_NO_FAMILY: Final = 0x00050061
_SECOND_ARGUMENT: Final = bpf.ARGUMENTS + 8


def build_filter() -> bytes:
    """Return the filter as an array of ``struct sock_filter``, as ``bwrap --seccomp`` reads it."""
    families = [
        bpf.step(bpf.EQUAL, family, len(_FAMILIES) - index)
        for index, family in enumerate(_FAMILIES)
    ]
    steps = (
        *bpf.first_steps(_DENIED),
        *bpf.answered(bpf.CLONE3, bpf.ENOSYS),
        bpf.step(bpf.EQUAL, bpf.CLONE, 0, 4),
        bpf.step(bpf.LOAD, bpf.ARGUMENTS),
        bpf.step(bpf.HAS_BIT, _NEW_NAMESPACES, 0, 1),
        bpf.step(bpf.RETURN, bpf.EPERM),
        bpf.step(bpf.RETURN, bpf.ALLOW),
        bpf.step(bpf.EQUAL, _IOCTL, 0, 5),
        bpf.step(bpf.LOAD, _SECOND_ARGUMENT),
        bpf.step(bpf.EQUAL, _TIOCSTI, 1),
        bpf.step(bpf.EQUAL, _TIOCLINUX, 0, 1),
        bpf.step(bpf.RETURN, bpf.EPERM),
        bpf.step(bpf.RETURN, bpf.ALLOW),
        bpf.step(bpf.EQUAL, _SOCKET, 0, len(_FAMILIES) + 2),
        bpf.step(bpf.LOAD, bpf.ARGUMENTS),
        *families,
        bpf.step(bpf.RETURN, _NO_FAMILY),
        bpf.step(bpf.RETURN, bpf.ALLOW),
    )
    return b"".join(steps)
