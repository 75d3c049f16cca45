"""Markdown as HTML: what is kept beside words and links."""

from __future__ import annotations

from heartbit_site.base.markdown import to_html

TABLE = """\
| fruit | weight | price |
|---|---:|:---:|
| `style="text-align:right"` | 3 | 4 |
"""


def test_columns_stay_aligned_without_styles() -> None:
    found = to_html(TABLE)
    assert '<th>fruit</th><th align="right">weight</th>' in found.replace("\n", "")
    assert '<td align="right">3</td><td align="center">4</td>' in found.replace("\n", "")
    assert "style=&quot;" in found or 'style="text-align:right"</code>' in found
    mailed = to_html(TABLE, styles={"td": "padding:1px"})
    assert '<td align="right" style="padding:1px">3</td>' in mailed
