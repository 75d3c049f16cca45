"""Who runs this process, by the name of their account on its machine."""

from __future__ import annotations

import getpass

from heartbit_site.base.audit import Actor


def login() -> str:
    """The account's name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in some containers
        return "somebody"


def at_terminal() -> Actor:
    """Whoever runs a command here, as the audit and the runs that they start name them."""
    return Actor(f"{login()} at a terminal", "terminal")
