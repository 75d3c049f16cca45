"""Labels of a server's tools. Apart from its settings, which every process imports."""

from __future__ import annotations

from heartbit_site.base.toolspec import Label


def labels_of(*, private_data: bool) -> frozenset[Label]:
    """Return the labels of a server's tools: no server is trusted, and each call goes to it."""
    return frozenset(Label if private_data else {Label.UNTRUSTED, Label.OUTBOUND})
