"""The README's table of environment variables, written from their list: `make readme`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.base.variables import VARIABLES

if TYPE_CHECKING:
    from heartbit_site.base.environment_variable import Variable

README: Final = Path(__file__).parents[1] / "README.md"
HEAD: Final = "| variable | meaning | default |\n|---|---|---|\n"


def with_table(text: str) -> str:
    """Return the README's text with the table as the list of variables has it."""
    before, head, rest = text.partition(HEAD)
    _, end, after = rest.partition("\n\n")
    return before + head + "\n".join(_row(each) for each in VARIABLES) + end + after


def _row(variable: Variable[object]) -> str:
    return f"| `{variable.name}` | {variable.help} | {variable.unset or _text(variable.default)} |"


def _text(default: object) -> str:
    match default:
        case bool():
            return "on" if default else "off"
        case int() | float():
            return f"{default:g}"
        case tuple():
            return f"`{','.join(default)}`" if default else "none"
    return f"`{default}`" if default else "none"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
