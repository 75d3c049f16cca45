"""Templates in tests: Django signals the rendering of each one, and its client copies the context.

An admin page renders several hundred templates of widgets; both take a third of its time.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from django.template import base
from django.test import utils

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.template import Context

_templates: Any = base.Template  # whose types leave out what is private
_signalled: Any = vars(utils)["instrumented_test_render"]
_rendering: ContextVar[bool] = ContextVar("rendering", default=False)


@contextmanager
def only_pages_are_signalled() -> Iterator[None]:
    """Signal a template that no other template is rendering, in place of all."""
    before = _templates._render
    _templates._render = _render
    try:
        yield
    finally:
        _templates._render = before


def _render(template: base.Template, context: Context) -> str:
    if _rendering.get():
        return template.nodelist.render(context)
    token = _rendering.set(True)
    try:
        rendered: str = _signalled(template, context)
        return rendered
    finally:
        _rendering.reset(token)
