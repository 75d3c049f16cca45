"""Generated TOML documents: the same nested value in every style that TOML has."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from heartbit_site.config.toml_text import key, value

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = st.one_of(st.sampled_from(["a", "b", "name", "1", "a-b"]), TEXT)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)
BETWEEN = st.sampled_from(["", "# a comment = [1]\n", "\n", "  \t\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A document and what it says."""
    content = draw(TABLES)
    return "".join(_table(draw, content, ())), content


def _table(draw: st.DrawFn, content: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """Pairs first: what follows a header belongs to it."""
    pairs, headers = [], []
    for name, inner in content.items():
        here = (*path, name)
        if isinstance(inner, dict) and draw(st.booleans()):
            headers += [draw(BETWEEN), f"[{_dotted(here)}] # table\n", *_table(draw, inner, here)]
        elif _is_array_of_tables(inner) and draw(st.booleans()):
            for element in inner:
                body = _table(draw, element, here)
                headers += [draw(BETWEEN), f" [[ {_dotted(here)} ]]\n", *body]
        elif isinstance(inner, dict) and inner and draw(st.booleans()):
            pairs += [
                f"{_dotted((name, part))} = {_value(draw, sub)}\n" for part, sub in inner.items()
            ]
        else:
            pairs += [draw(BETWEEN), f"  {key(name)}\t= {_value(draw, inner)} # = \n"]
    return pairs + headers


def _is_array_of_tables(inner: object) -> bool:
    return isinstance(inner, list) and bool(inner) and all(isinstance(one, dict) for one in inner)


def _value(draw: st.DrawFn, inner: object) -> str:
    """Arrays over several lines, with comments and a comma at the end."""
    if isinstance(inner, list) and inner and draw(st.booleans()):
        elements = [f"  # ] , \n {_value(draw, element)} ,\n" for element in inner]
        return f"[\n{''.join(elements)}]"
    return value(inner)


def _dotted(path: tuple[str, ...]) -> str:
    return " . ".join(map(key, path))
