"""`heartbit audit`: changes and decisions, and their chains."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend.chosen import call
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.errors import FAILED, OK
from heartbit_site.cli.terminal.output import note
from heartbit_site.cli.terminal.table import Table, print_list
from heartbit_site.contract.audit import (
    LIST_AUDIT_ENTRIES,
    VERIFY_ALL_AUDITS,
    ChainOut,
    ChainsOut,
    EntryOut,
)

ENTRIES: Final = Table.of(
    EntryOut,
    "NUMBER TIME=at BY=actor:40 VIA ACTION TARGET LABEL=label:60",
    none="The audit is empty: nothing was changed or decided yet.",
)

app = common.group_without_default()
AUDIT: Final = Verbs(app, "audit", LIST_AUDIT_ENTRIES, ENTRIES)

AUDIT.list("List changes and decisions in a workspace, the newest first.", limit=common.LAST)


@app.command(cls=RemoteCommand)
def verify() -> int:
    """Check every entry, and print the end of each chain; exit 1 if one is broken.

    Missing entries at the end cannot be detected: keep the printed numbers and
    hashes elsewhere, and compare.
    """
    return print_chains(call(VERIFY_ALL_AUDITS, reads_only=True))


def print_chains(found: ChainsOut) -> int:
    """Print how each chain ends, and where one does not hold; return the exit code."""
    print_list(found, CHAINS)
    for one in found.chains:
        if one.broken_at is not None:
            where = f"The audit of {_name(one)}"
            note(f"{where} does not hold from entry {one.broken_at} on: {one.problem}.")
    return OK if found.valid else FAILED


def _name(chain: ChainOut) -> str:
    if not chain.chain:
        return "(installation)"
    return chain.workspace or f"(deleted workspace {chain.chain})"


CHAINS: Final = Table.of(
    ChainOut,
    "STATE CHAIN LAST=last_number HASH=last_hash",
    styles={"holds": "green", "BROKEN": "red"},
    none="The audit is empty: nothing was changed or decided yet.",
    STATE=lambda chain: "holds" if chain.broken_at is None else "BROKEN",
    CHAIN=_name,
)
