"""Template tags of every page: ``{% load shell %}``."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from heartbit_site.base.tone import STATUS_TONES, status_word
from heartbit_site.shell import moment as moments
from heartbit_site.shell.live import HEADER, add_region
from heartbit_site.shell.sentences import with_code

register = template.Library()
_LABEL: Final = re.compile(r'( data-label=")([a-z])')


@register.filter
def sentence(text: object) -> SafeString:
    """Show a sentence; what is in backticks, such as a command, is code."""
    return with_code(str(text))


@register.simple_tag
def moment(
    at: datetime | None,
    zone: str = "",
    beside: str = "",
    missing: str = "-",
    seconds: bool = False,  # noqa: FBT001, FBT002  a tag's argument
) -> SafeString | str:
    """Show a moment; see ``heartbit_site.shell.moment``."""
    return moments.moment(at, zone=zone, beside=beside, missing=missing, seconds=seconds)


@register.filter
def sentence_case_labels(markup: SafeString) -> SafeString:
    """Begin the labels of a list's cells, which the theme writes on phones, with a capital."""
    # Values cannot match: their quotation marks are escaped.
    return SafeString(_LABEL.sub(lambda found: found[1] + found[2].upper(), markup))


@register.filter
def day(on: date) -> SafeString:
    """Show a day."""
    return moments.day(on)


@register.filter
def whole(at: datetime) -> str:
    """Write a moment where no element can be, with its day, seconds and zone."""
    return moments.whole(at)


@register.simple_tag
def icon(name: str, small: object = False) -> SafeString:  # noqa: FBT002  a tag's argument
    """Show a symbol; decorative, so without a name."""
    return format_html(
        '<span class="icon{}" aria-hidden="true">{}</span>', " small" if small else "", name
    )


@register.simple_tag
def status(of: str) -> SafeString:
    """Show the status of a run, a call or a delivery as a label."""
    return format_html(
        '<span class="pill {}">{}</span>', STATUS_TONES.get(of) or "neutral", status_word(of)
    )


@register.simple_block_tag(takes_context=True)
def live(context: Any, content: str, name: str, kinds: str, style: str = "") -> SafeString:
    """Mark a region that follows changes; see ``heartbit_site.shell.live``.

    Args:
        context: The template's.
        content: What is in it.
        name: The element's id.
        kinds: Kinds of change that it follows, e.g. ``runs calls``.
        style: The element's classes.
    """
    markup = format_html(
        '<div id="{}" class="{}" data-live="{}">{}</div>', name, style, kinds, content
    )
    if HEADER in context["request"].headers:
        add_region(context["request"], markup)
    return markup
