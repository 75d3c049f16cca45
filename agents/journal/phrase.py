"""A fact of a run in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartbit_site.base.tone import Tone


@dataclass(frozen=True, slots=True)
class Phrase:
    """An event in words.

    Attributes:
        title: What happened, beginning in lower case.
        text: What a model, a tool or a person wrote, or the reason; it may be long.
        tone: The colour.
        icon: A name of Material Symbols.
        note: Figures and other small print.
    """

    title: str
    text: str = ""
    icon: str = "circle"
    tone: Tone = ""
    note: str = ""

    @property
    def heading(self) -> str:
        """The title with a capital letter."""
        return self.title[:1].upper() + self.title[1:]
