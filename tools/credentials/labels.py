"""Labels of types of credentials, for people."""

from __future__ import annotations

from heartbit_site.base.credentials import credential_types


def label_of(kind: str) -> str:
    """Return the label of a kind; an unknown kind is its own."""
    known = credential_types().get(kind)
    return kind if known is None else known.label
