"""Whether the audit's chains hold, and how they end. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import FAILED, OK
from heartbit_site.cli.output import note, write, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.contract.audit import VERIFY_ALL_AUDITS

if TYPE_CHECKING:
    from heartbit_site.contract.audit import ChainOut, ChainsOut

STYLES = {"holds": "green", "BROKEN": "red"}


def verify(url: str | None, *, as_json: bool) -> int:
    """Check and print all of them."""
    return show(backend_for(url).call(VERIFY_ALL_AUDITS), as_json=as_json)


def show(found: ChainsOut, *, as_json: bool) -> int:
    """Print what was found of every chain; the exit code."""
    broken = [chain for chain in found.chains if chain.broken_at is not None]
    if as_json:
        write_view(found)
    elif not found.chains:
        write("The audit is empty: nothing was changed or decided yet.")
    else:
        rows = [
            (
                "BROKEN" if one in broken else "holds",
                _name(one),
                str(one.last_number),
                one.last_hash,
            )
            for one in found.chains
        ]
        print_table(("STATE", "CHAIN", "LAST", "HASH"), rows, styles=STYLES)
    for one in broken:
        where = _name(one)
        note(f"The audit of {where} does not hold from entry {one.broken_at} on: {one.problem}.")
    return OK if found.valid else FAILED


def _name(chain: ChainOut) -> str:
    if not chain.chain:
        return "(installation)"
    return chain.workspace or f"(deleted workspace {chain.chain})"
