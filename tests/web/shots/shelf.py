"""The knowledge of the shop: a handbook, a price list, and a scan that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.models import Document, Passage

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

HANDBOOK = """# Repairs

Every bicycle gets a ticket with the customer's name, the number of the invoice and the fault
in their own words.

## Loan bikes

A customer whose repair takes more than two days is offered a loan bike of the same size. It is
free for owners of a Larkfield bicycle, and 12 a day for everybody else. The deposit is 50.

## Bent wheels

A wheel that is out of true by less than 3 mm is straightened while the customer waits.
Otherwise it is replaced, and the old one is shown to the customer before it is thrown away.
"""
PRICES = "# Prices\n\nStraightening a wheel: 25. A new rim: 60 and up. Service without parts: 80."


def fill_shelf(workspace: Workspace, *, by: Actor) -> Passage:
    """Add two bases with documents, read them, and return the passage that is shown."""
    handbook, _ = save_base(workspace, "handbook", description="Rules of the shop", by=by)
    prices, _ = save_base(workspace, "prices", description="What repairs cost", by=by)
    source = "https://wiki.larkfield.example/repairs"
    document, _ = save_document(handbook, "repairs.md", HANDBOOK.encode(), by=by, source=source)
    save_document(prices, "prices.md", PRICES.encode(), by=by)
    save_document(prices, "price list 2019.pdf", b"%PDF-1.4\n%%EOF\n", by=by)
    waiting = Document.objects.filter(base__workspace=workspace, state__in=("queued", "reading"))
    ingest_documents(goes_on=waiting.exists)
    found: Passage = document.passages.get(text__contains="loan bike of the same size")
    return found
