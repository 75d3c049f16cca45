"""`heartbit cancel`."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.errors import ConflictError
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.output import as_json, note, write, write_json
from heartbit_site.cli.views.outcome import LIVE, past, run_tree
from heartbit_site.contract.runs import CANCEL_RUN, SHOW_RUN, WAIT_FOR_RESULT

PATIENCE: Final = 10.0  # seconds for the run's end


def cancel(run: str = common.RUN) -> int:
    """Cancel a run and its sub-agents."""
    server = backend()
    found = server.call(SHOW_RUN, run_id=common.run_id_of(run))
    if found.status not in LIVE:
        raise ConflictError(f"Run {found.id} has ended already: it {past(found)}.")
    server.call(CANCEL_RUN, run_id=found.id)
    server.call(WAIT_FOR_RESULT, run_id=found.id, wait=PATIENCE)
    found = server.call(SHOW_RUN, run_id=found.id)
    if as_json():
        write_json(run_tree(found))
    elif found.status in LIVE:
        note(f"Run {found.id} was told to stop; it ends as soon as its worker hears it.")
    else:
        write(f"Run {found.id} {past(found)}.")
    return OK
