"""An answer as an instance of a class: `python structured.py Tell me of Bonn`."""

from __future__ import annotations

import sys

from pydantic import BaseModel, Field

from heartbit_site.library import Heartbit


class City(BaseModel):
    """What the answer has to hold."""

    name: str
    people: int = Field(description="How many live there.", ge=0)


def main(question: str) -> None:
    """Ask, and print what the class makes of the answer."""
    clerk = Heartbit().agent("clerk", "You look up cities.").response_schema(City)
    city = clerk.run(question).expect().structured
    sys.stdout.write(f"{city.name}: {city.people}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Tell me of Bonn.")
