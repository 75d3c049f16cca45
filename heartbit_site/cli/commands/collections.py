"""`heartbit collections`: texts and vectors of programs, found by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from heartbit_site.base.amounts import counted
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import json_object
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal import output
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.table import Table, print_done, print_list
from heartbit_site.contract import collections as contract

NAME = common.argument("NAME", "The collection's name.")
KEY = common.argument("KEY", "The item's key.")
KEYS = common.argument("KEY...", "The items' keys.")
TEXT = common.argument("TEXT", "The item's text.")
ITEMS = common.argument("FILE", "A JSON list of items, each with key, text, vector and metadata.")
QUERY = common.argument("[QUERY]", "Words, or a question.", "")
DIMENSIONS = common.option("--dimensions N", "Expect vectors of this length from you.", None)
VECTOR = common.option("--vector JSON", "Search by this JSON list of numbers.")
METADATA = common.option("--metadata JSON", "Store or require this JSON object.")
NUMBER = common.option("--limit N", "Number of hits at most.", 10)
_BATCH: Final = 50
_MOST_BYTES: Final = 100_000_000

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_collections() -> int:
    """List the vector collections."""
    return chosen.print_all(contract.LIST_COLLECTIONS, COLLECTIONS, reads_only=True)


@app.command(cls=RemoteCommand)
def create(name: str = NAME, *, dimensions: int | None = DIMENSIONS) -> int:
    """Create a vector collection."""
    made = chosen.call(contract.CREATE_COLLECTION, {"name": name, "dimensions": dimensions})
    return print_done(made, f"The collection {made.name} is there.")


@app.command(cls=RemoteCommand)
def delete(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Delete a vector collection with its items, for good."""
    server = chosen.backend()
    found = server.call(contract.SHOW_COLLECTION, collection=name)
    items = counted(found.item_count, "item")
    chosen.confirm_removal(f"{output.one_line(found.name)} with {items}", yes=yes)
    server.call(contract.REMOVE_COLLECTION, collection=name)
    if output.as_json():
        output.write_json({"name": name})
    else:
        output.write(f"Removed {output.one_line(name)}.")
    return OK


@app.command(cls=RemoteCommand)
def add(name: str = NAME, key: str = KEY, text: str = TEXT, *, metadata: str = METADATA) -> int:
    """Write an item; one of the same key is replaced."""
    item = {"key": key, "text": text, "metadata": _object(metadata)}
    done = chosen.call(contract.UPSERT_ITEMS, {"items": [item]}, collection=name)
    return print_done(done, f"{output.one_line(key)} is written.")


@app.command(name="import", cls=RemoteCommand)
def import_items(name: str = NAME, file: Path = ITEMS) -> int:
    """Write the items of a file, 50 at once."""
    items = _read_list(file.read_text("utf-8") if file.is_file() else "", f"{file}")
    server, created = chosen.backend(), 0
    for start in range(0, len(items), _BATCH):
        part = {"items": items[start : start + _BATCH]}
        created += server.call(contract.UPSERT_ITEMS, part, collection=name).created
    done = contract.WrittenItemsOut(created=created, replaced=len(items) - created)
    return print_done(done, f"{counted(done.created, 'item')} new, {done.replaced} replaced.")


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, keys: list[str] = KEYS) -> int:
    """Delete items by their keys."""
    done = chosen.call(contract.DELETE_ITEMS, {"keys": keys}, collection=name)
    return print_done(done, f"Deleted {counted(done.deleted, 'item')}.")


@app.command(cls=RemoteCommand)
def search(
    name: str = NAME,
    query: str = QUERY,
    *,
    vector: str = VECTOR,
    metadata: str = METADATA,
    limit: int = NUMBER,
) -> int:
    """Search items, the best first."""
    wanted: dict[str, Any] = {"query": query, "metadata": _object(metadata), "limit": limit}
    if vector:
        wanted["vector"] = _read_list(vector, "--vector")
    found = chosen.call(contract.SEARCH_COLLECTION, wanted, collection=name)
    if not output.as_json():
        output.note(f"Found by {found.found_by}.")
    return print_list(found, HITS)


def _object(text: str) -> dict[str, Any]:
    return json_object(text, "--metadata", '{"colour": "red"}') if text else {}


def _read_list(text: str, name: str) -> list[Any]:
    try:
        found = parse_untrusted_json(text, max_bytes=_MOST_BYTES)
    except UntrustedJSONError:
        found = None
    if not isinstance(found, list):
        raise UsageError(f"{name} is not a JSON list.")
    return found


COLLECTIONS: Final = Table.of(
    contract.CollectionOut, "NAME DIMENSIONS ITEMS=item_count", none="No collections."
)
HITS: Final = Table.of(
    contract.ItemHitOut,
    "KEY=key:60 SCORE=score:.2f SIMILARITY=similarity TEXT=text:300",
    none="Nothing fits.",
)
