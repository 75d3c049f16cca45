"""The person who runs this process, by the name of their account on its machine."""

from __future__ import annotations

import os
import pwd

from heartbit_site.base.audit import Actor


def os_username() -> str:
    """Return the name of the account that the operating system runs this process as.

    Not what LOGNAME or USER say, which anybody can set: a call that needs several people counts
    whoever approves it at a terminal by this name.
    """
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in some containers
        return f"user {number}"


def terminal_user() -> Actor:
    """Whoever runs a command here, as the audit and the runs that they start name them."""
    return Actor(f"{os_username()} at a terminal", "terminal")
