"""Results of `heartbit audit verify`. No Django."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import FAILED, OK
from heartbit_site.cli.output import note
from heartbit_site.cli.table import Table, print_list
from heartbit_site.contract.audit import VERIFY_ALL_AUDITS, ChainOut, ChainsOut


def verify(url: str | None, *, as_json: bool) -> int:
    """Check and print all of them."""
    return show(backend_for(url).call(VERIFY_ALL_AUDITS), as_json=as_json)


def show(found: ChainsOut, *, as_json: bool) -> int:
    """Print what was found of every chain; the exit code."""
    broken = [chain for chain in found.chains if chain.broken_at is not None]
    none = "The audit is empty: nothing was changed or decided yet."
    print_list(found, CHAINS.of(found.chains), none=none, as_json=as_json)
    for one in broken:
        where = _name(one)
        note(f"The audit of {where} does not hold from entry {one.broken_at} on: {one.problem}.")
    return OK if found.valid else FAILED


def _name(chain: ChainOut) -> str:
    if not chain.chain:
        return "(installation)"
    return chain.workspace or f"(deleted workspace {chain.chain})"


CHAINS: Final = Table[ChainOut](
    {
        "STATE": lambda chain: "holds" if chain.broken_at is None else "BROKEN",
        "CHAIN": _name,
        "LAST": lambda chain: chain.last_number,
        "HASH": lambda chain: chain.last_hash,
    },
    {"holds": "green", "BROKEN": "red"},
)
