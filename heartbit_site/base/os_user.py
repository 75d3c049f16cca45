"""The operating system's account of this process."""

from __future__ import annotations

import os
import pwd

from heartbit_site.base.audit import Actor


def os_username() -> str:
    """Return the name of the account that the operating system runs this process as.

    LOGNAME and USER are ignored, because anyone can set them: a call that needs several approvals
    identifies an approver at a terminal by this name.
    """
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in some containers
        return f"user {number}"


def terminal_user() -> Actor:
    """Return the actor of a command on this machine, for the audit and the runs that it starts."""
    return Actor(f"{os_username()} at a terminal", "terminal")
