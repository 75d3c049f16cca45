"""Account of the servers: the caller, or a dedicated system user when the caller is root.

PostgreSQL refuses to run as root, and neither server needs to.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from heartbit_site.embedded.errors import EmbeddedError

SYSTEM_USER: Final = "heartbit"


class SwitchUser(TypedDict, total=False):
    """The arguments of `subprocess.Popen` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The account of the server processes.

    Attributes:
        name: Its name, as PostgreSQL's peer authentication sees it.
        uid: Its user id.
        gid: Its primary group.
        owner: The name of the account that owns the state directory (the caller).
    """

    name: str
    uid: int
    gid: int
    owner: str

    @property
    def separate(self) -> bool:
        """True if the servers run as a different account than the state's owner."""
        return self.name != self.owner

    def switch(self) -> SwitchUser:
        """Return the arguments that make a child process run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.separate else {}

    def require_traversable(self, directory: Path) -> None:
        """Check that this account may pass through `directory` and each of its parents.

        No permission is widened: the owner of a directory decides who may pass.

        Raises:
            EmbeddedError: One of them is closed to this account.
        """
        if not self.separate:
            return
        real = directory.resolve()
        for parent in (*reversed(real.parents), real):
            if not self._may_pass(parent.stat()):
                raise EmbeddedError(
                    f"The servers run as the user {self.name}, who may not pass through {parent}: "
                    f"set HEARTBIT_STATE_DIR to a directory outside it, or allow it with "
                    f"'chmod o+x {parent}'."
                )

    def _may_pass(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def server_user() -> ServerUser:
    """Return the account for the servers; as root, create it when it is missing.

    Raises:
        EmbeddedError: The caller has no account name, or the system user cannot be created.
    """
    try:
        caller = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise EmbeddedError(
            f"The user id {os.geteuid()} has no name in /etc/passwd, which PostgreSQL needs: "
            "run as a user that has one, or set DATABASE_URL and REDIS_URL to servers of your own."
        ) from None
    account = caller if caller.pw_uid else _system_account()
    return ServerUser(account.pw_name, account.pw_uid, account.pw_gid, owner=caller.pw_name)


def _system_account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        _create_system_account()
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise EmbeddedError(
            f"The system user {SYSTEM_USER}, who runs the servers when you are root, could not be "
            f"created: create it with 'useradd --system {SYSTEM_USER}', or run as another user."
        ) from None


def _create_system_account() -> None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return
    # The caller looks the result up again: another process may have created it first.
    subprocess.run(  # noqa: S603 -- a constant command with an absolute path
        [
            useradd,
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir=/nonexistent",
            "--shell=/usr/sbin/nologin",
            SYSTEM_USER,
        ],
        check=False,
        stdin=subprocess.DEVNULL,
    )
