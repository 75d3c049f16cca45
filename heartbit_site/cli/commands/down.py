"""`heartbit down`."""

from __future__ import annotations

from heartbit_site.cli.installation.startup import in_use
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK, CommandError
from heartbit_site.cli.terminal.output import write
from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory

FORCE = common.flag("--force -f", "Stop them even if other processes use them.")


def down(*, force: bool = FORCE) -> int:
    """Stop the embedded services now.

    By themselves they stop minutes after their last use. The next command starts them again.
    """
    state = StateDirectory()
    names = [name for name, status in client.status(state).services.items() if status.pid]
    if names and not force and in_use(state):
        raise CommandError(
            "Other processes use the embedded services: end them first (`heartbit serve`, "
            "`heartbit up`, ...), or stop the services all the same with --force."
        )
    client.stop(state)
    write(f"Stopped {', '.join(names)}." if names else f"Nothing runs in {state.path}.")
    return OK
