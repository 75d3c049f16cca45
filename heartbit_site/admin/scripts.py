"""Scripts of a form or list: Django's and the theme's are one file (``shell.assets``)."""

from __future__ import annotations

from typing import Any

from django.forms import Media

from heartbit_site.shell.assets import JOINED, OF_SLUGS


def joined(media: Any, *, fills_in: bool = False) -> Media:
    """Return a page's media with Django's scripts as one.

    Args:
        media: Django's, and the page's own.
        fills_in: True if the form fills in a field from another.
    """
    left_out = JOINED if fills_in else JOINED | OF_SLUGS
    own = [one for one in media._js if one not in left_out]
    return Media(css=media._css, js=["heartbit/admin-scripts.js", *own])
