"""`heartbit collections`, here and against a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memory.models import Collection, CollectionItem

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


def test_items_with_vectors_are_written_found_and_deleted(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    shop = place.of("collections")
    assert shop("create", "shop", "--dimensions", "3").out == "The collection shop is there.\n"
    assert "exists with other dimensions" in shop("create", "shop").err
    items = [
        {"key": "tea", "text": "Green tea", "vector": [1, 0, 0], "metadata": {"kind": "drink"}},
        {"key": "cup", "text": "A cup", "vector": [0, 1, 0], "metadata": {"kind": "thing"}},
    ]
    file = tmp_path / "items.json"
    file.write_text(json.dumps(items))
    assert shop("import", "shop", str(file)).out == "2 items new, 0 replaced.\n"
    assert shop("import", "shop", str(file)).out == "0 items new, 2 replaced.\n"

    def found(*options: str) -> list[tuple[str, float | None]]:
        hits = json.loads(shop("search", "shop", *options, "--json").out)["hits"]
        return [(hit["key"], hit["similarity"]) for hit in hits]

    assert found("--vector", "[0.9, 0.1, 0]")[0][0] == "tea"
    assert found("--vector", "[0, 1, 0]") == [("cup", 1.0), ("tea", 0.0)]
    assert found("--vector", "[0, 1, 0]", "--metadata", '{"kind": "drink"}') == [("tea", 0.0)]
    assert found("cups") == [("cup", None)], "by words"
    assert "has a vector of 2 numbers" in shop("search", "shop", "--vector", "[1, 0]").err
    assert "Give a query, or a vector." in shop("search", "shop").err
    file.write_text(json.dumps([items[0], {"key": "x", "vector": [1]}]))
    assert "The item 'x' has a vector of 1 numbers" in shop("import", "shop", str(file)).err
    assert shop("remove", "shop", "tea", "none").out == "Deleted 1 item.\n"
    assert "shop" in shop("list").out
    assert shop("delete", "shop", "--yes").out == "Removed shop.\n"
    assert not CollectionItem.objects.filter(collection__workspace=workspace).exists()


def test_texts_are_found_by_words_before_they_are_embedded(
    place: Place, workspace: Workspace
) -> None:
    notes = place.of("collections")
    notes("create", "notes")
    assert notes("add", "notes", "a", "Ann is drinking green tea.").code == 0
    found = notes("search", "notes", "drinks")
    assert "by words only: there is no embedding model" in found.err
    assert "green tea" in found.out
    assert "There is no collection 'x'" in notes("search", "x", "y").err
    assert notes("create", "No Name").code == 2
    Collection.objects.filter(workspace=workspace).delete()
