"""Text that a model wrote, on one line of a terminal, shown so that nothing hides in it. Pure.

`terminal_text.clean` removes what steers a terminal; that is right for progress and wrong for what
a person approves. Here every such character stays visible, as its escape.
"""

from __future__ import annotations

from typing import Final

from heartbit_site.base import visible_text

# What a page may keep, a single line may not; and a backslash must not look like an escape's.
_LINE: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": visible_text.json_escape("\t")})


def visible(text: str) -> str:
    r"""Return text on one line; characters without a shape as `\n`, `\u202e`; a `\` as `\\`."""
    return visible_text.visible(text.translate(_LINE))
