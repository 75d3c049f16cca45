"""Vector collections: texts and vectors of programs, found by meaning."""

from __future__ import annotations

from django.db.models import Count

from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract import collections as contract
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name
from heartbit_site.operations.paging import list_page
from memory.actions import collections as actions
from memory.actions.collections import NewItem, find_collection
from memory.actions.search_collection import search_collection as search
from memory.models import Collection


def list_collections(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> contract.CollectionsOut:
    """Return the vector collections of the workspace, by name."""
    rows = Collection.objects.filter(workspace=access.workspace)
    counted = rows.annotate(item_count=Count("items"))
    return list_page(contract.CollectionsOut, counted, "name", cursor, limit)


def create_collection(access: Access, body: contract.CollectionIn) -> contract.CollectionOut:
    """Create a vector collection, or return the one of this name.

    Without dimensions the workspace's embedding model embeds its texts, as it does memories and
    documents; without such a model they are found by their words.
    """
    actions.create_collection(
        access.workspace, body.name, dimensions=body.dimensions, by=actor_of(access)
    )
    return show_collection(access, body.name)


def show_collection(access: Access, collection: Name) -> contract.CollectionOut:
    """Return a vector collection."""
    found = find_collection(access.workspace, collection)
    return contract.CollectionOut.of(found, item_count=found.items.count())


def remove_collection(access: Access, collection: Name) -> None:
    """Delete a vector collection with its items, for good."""
    actions.delete_collection(find_collection(access.workspace, collection), by=actor_of(access))


def upsert_items(
    access: Access, collection: Name, body: contract.ItemsIn
) -> contract.WrittenItemsOut:
    """Write up to 50 items, all or none; those of known keys are replaced.

    The workspace has room for 100,000 items: 409 if it is full.
    """
    found = find_collection(access.workspace, collection)
    items = [NewItem(**item.model_dump()) for item in body.items]
    created = actions.upsert_items(found, items, by=actor_of(access))
    return contract.WrittenItemsOut(created=created, replaced=len(items) - created)


def delete_items(
    access: Access, collection: Name, body: contract.ItemKeysIn
) -> contract.DeletedItemsOut:
    """Delete items by their keys; unknown keys are ignored."""
    found = find_collection(access.workspace, collection)
    deleted = actions.delete_items(found, body.keys, by=actor_of(access))
    return contract.DeletedItemsOut(deleted=deleted)


def search_collection(
    access: Access, collection: Name, body: contract.CollectionSearchIn
) -> contract.ItemHitsOut:
    """Return the items that match best, by words and by meaning or the given vector."""
    found = search(
        find_collection(access.workspace, collection),
        query=body.query,
        vector=body.vector,
        metadata=body.metadata,
        limit=body.limit,
    )
    return contract.ItemHitsOut.of(found, found_by=found.basis, next_cursor=None)
