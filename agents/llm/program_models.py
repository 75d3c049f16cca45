"""Models that a Python program hands to its agents as objects; they exist in its process alone.

Usage::

    name = register(model)     # program:mine, the name that its agents' settings have
    find(name) is model
"""

from __future__ import annotations

import re
import threading
from typing import Final

from agents.llm.protocol import ChatModel
from heartbit_site.base.errors import ConfigurationError

#: The provider of their names.
PROVIDER: Final = "program"
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 100

_models: dict[str, ChatModel] = {}
_lock = threading.Lock()


def register(model: object) -> str:
    """Return the name under which agents of this process ask a model; an object keeps its name.

    The name is made of the model's own, so that a program that is started again and hands in its
    models in the same order continues its runs.

    Raises:
        ConfigurationError: The object is not a ``ChatModel``.
    """
    own = getattr(model, "name", None)
    if isinstance(model, type) or not isinstance(own, str) or not own:
        raise ConfigurationError(f"{model!r:.200} is not a model: its `name` is no text.")
    if not callable(getattr(model, "stream", None)):
        raise ConfigurationError(f"{model!r:.200} is not a model: it has no method `stream`.")
    found: ChatModel = model  # type: ignore[assignment]  # as far as can be seen
    base = f"{PROVIDER}:{_NOT_IN_NAMES.sub('-', own)[:_LONGEST]}"
    with _lock:
        number, name = 1, base
        while _models.setdefault(name, found) is not found:
            number += 1
            name = f"{base}-{number}"
        return name


def find(name: str) -> ChatModel | None:
    """Return the model of a name, or None if no program of this process has handed it in."""
    return _models.get(name)


def is_program_model(name: str) -> bool:
    """Return True if a name is that of a program's model, of this process or another."""
    return name.startswith(f"{PROVIDER}:")
