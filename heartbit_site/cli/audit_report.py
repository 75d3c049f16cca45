"""Whether the audit's chains hold, and how they end."""

from __future__ import annotations

from heartbit_site.base import audit
from heartbit_site.base.models import Workspace
from heartbit_site.cli.errors import FAILED, OK
from heartbit_site.cli.output import note, write, write_json
from heartbit_site.cli.table import print_table

STYLES = {"holds": "green", "BROKEN": "red"}


def verify(*, as_json: bool) -> int:
    """Check and print all of them."""
    broken = {found.workspace_id: found for found in audit.verify()}
    slugs = dict(Workspace.objects.values_list("pk", "slug"))
    tips = audit.tips()
    if as_json:
        write_json(
            {
                "holds": not broken,
                "chains": [
                    {
                        "workspace": slugs.get(tip.workspace_id),
                        "chain": tip.workspace_id,
                        "last_number": tip.number,
                        "last_hash": tip.hash,
                        "broken_at": at.number if at is not None else None,
                        "problem": at.problem if at is not None else None,
                    }
                    for tip in tips
                    for at in [broken.get(tip.workspace_id)]
                ],
            }
        )
    elif not tips:
        write("The audit is empty: nothing was changed or decided yet.")
    else:
        rows = [
            (
                "BROKEN" if tip.workspace_id in broken else "holds",
                _name(slugs, tip.workspace_id),
                str(tip.number),
                tip.hash,
            )
            for tip in tips
        ]
        print_table(("STATE", "CHAIN", "LAST", "HASH"), rows, styles=STYLES)
    for found in broken.values():
        where = _name(slugs, found.workspace_id)
        note(f"The audit of {where} does not hold from entry {found.number} on: {found.problem}.")
    return FAILED if broken else OK


def _name(slugs: dict[int, str], workspace_id: int) -> str:
    if not workspace_id:
        return "(installation)"
    return slugs.get(workspace_id, f"(deleted workspace {workspace_id})")
