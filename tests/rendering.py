"""Templates in tests: Django signals the rendering of each one, and its client copies the context.

An admin page renders several hundred templates of widgets; both take a third of its time.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from django.template.base import Template
from django.test.utils import instrumented_test_render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.template import Context
    from django.utils.safestring import SafeString

_rendering: ContextVar[bool] = ContextVar("rendering", default=False)


@contextmanager
def only_pages_are_signalled() -> Iterator[None]:
    """Signal a template that no other template is rendering, in place of all."""
    before = Template._render
    Template._render = _render
    try:
        yield
    finally:
        Template._render = before


def _render(template: Template, context: Context) -> SafeString:
    if _rendering.get():
        return template.nodelist.render(context)
    token = _rendering.set(True)
    try:
        return instrumented_test_render(template, context)
    finally:
        _rendering.reset(token)
