"""Description of an event for people. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.base.tone import Tone


@dataclass(frozen=True, slots=True)
class Phrase:
    """Description of an event.

    Attributes:
        title: Summary, beginning in lower case.
        text: Text of a model, a tool or a person, or the reason; possibly long.
        icon: Name of a Material Symbols icon.
        note: Figures and other details.
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
