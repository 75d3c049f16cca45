"""Vector collections: texts and vectors of programs, found by meaning."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Name, Page, Text, Word
from heartbit_site.contract.operation import READ_RUNS, WRITE_AGENTS, Noun

Vector = Annotated[list[float], Field(max_length=4_000, strict=False)]
Metadata = Annotated[dict[str, JsonValue], Field(max_length=50)]


class CollectionOut(View):
    """A vector collection."""

    name: str
    dimensions: int | None = Field(
        description="Length of the vectors that programs give; null: texts are embedded."
    )
    item_count: int = Field(0, description="Number of its items.")
    created_at: Time


class CollectionsOut(Page):
    """Vector collections, by name."""

    collections: list[CollectionOut]


class CollectionIn(Body):
    """A collection to create."""

    name: Name = Field(description="Lower-case letters, digits, - and _, such as products.")
    dimensions: Annotated[int, Field(ge=1, le=4_000)] | None = Field(
        None,
        description="Length of the vectors that programs give; null: the workspace's embedding "
        "model embeds the texts.",
    )


class ItemIn(Body):
    """An item to write; one of the same key is replaced."""

    key: Word = Field(min_length=1)
    text: Annotated[Text, Field(max_length=8_000)] = ""
    vector: Vector = Field(
        default_factory=list, description="For a collection with dimensions; else none."
    )
    metadata: Metadata = Field(default_factory=dict, description="Free JSON.")


class ItemsIn(Body):
    """Items to write."""

    items: list[ItemIn] = Field(min_length=1, max_length=50)


class WrittenItemsOut(View):
    """Result of writing items."""

    created: int = Field(description="Number of new items.")
    replaced: int = Field(description="Number of items whose keys were known.")


class ItemKeysIn(Body):
    """Keys of items to delete."""

    keys: list[Word] = Field(min_length=1, max_length=1_000)


class DeletedItemsOut(View):
    """Number of deleted items."""

    deleted: int


class CollectionSearchIn(Body):
    """A search: a query, a vector, or both."""

    query: Word = Field("", description="Words, or a question.")
    vector: Vector = Field(default_factory=list, description="For a collection with dimensions.")
    metadata: Metadata = Field(
        default_factory=dict,
        description="Entries that the metadata of each hit has to contain.",
    )
    limit: int = Field(10, ge=1, le=100, description="Maximum number of hits.")


class ItemHitOut(View):
    """A matching item."""

    key: str = Field(validation_alias=AliasPath("item", "key"))
    text: str = Field(validation_alias=AliasPath("item", "text"))
    metadata: dict[str, JsonValue] = Field(validation_alias=AliasPath("item", "metadata"))
    score: float = Field(description="From 0 to 1, for the best by words and by meaning.")
    similarity: float | None = Field(
        description="Cosine of its vector and the query's; null: one of them has none."
    )


class ItemHitsOut(Page):
    """The best matching items, the best first."""

    found_by: str = Field(description="By words alone, or by meaning too; and why.")
    hits: list[ItemHitOut]


NOUN = Noun("collections", read=READ_RUNS, write=WRITE_AGENTS)

LIST_COLLECTIONS = NOUN.get(
    "list_collections", "/collections", CollectionsOut, command="`heartbit collections list`"
)
CREATE_COLLECTION = NOUN.post(
    "create_collection", "/collections", CollectionOut, body=CollectionIn, errors=(409,)
)
SHOW_COLLECTION = NOUN.get("show_collection", "/collections/{collection}", CollectionOut)
REMOVE_COLLECTION = NOUN.delete("remove_collection", "/collections/{collection}")
UPSERT_ITEMS = NOUN.post(
    "upsert_items", "/collections/{collection}/items", WrittenItemsOut,
    "Write items of a collection", body=ItemsIn, errors=(409, 413),
)  # fmt: skip
DELETE_ITEMS = NOUN.post(
    "delete_items", "/collections/{collection}/items/delete", DeletedItemsOut,
    "Delete items of a collection", body=ItemKeysIn,
)  # fmt: skip
SEARCH_COLLECTION = NOUN.post(
    "search_collection", "/collections/{collection}/search", ItemHitsOut, "Search a collection",
    body=CollectionSearchIn, needs=READ_RUNS,
)  # fmt: skip
