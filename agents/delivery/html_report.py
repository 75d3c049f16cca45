"""A report as the HTML of a mail: one page with inline styles that fetches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.choices import RunStatus
from heartbit_site.base.markdown import to_html

if TYPE_CHECKING:
    from agents.delivery.report import Report

_CELL = "border:1px solid #ddd6ec;padding:6px 10px;text-align:left;vertical-align:top"
_HEADING = "margin:14px 0 8px;line-height:1.3;color:#1f1a2e"
_LIST = "margin:0 0 14px;padding-left:24px"
#: How what the answer is made of looks.
STYLES: Final = {
    "h1": f"{_HEADING};font-size:20px",
    "h2": f"{_HEADING};font-size:18px",
    "h3": f"{_HEADING};font-size:16px",
    "h4": f"{_HEADING};font-size:15px",
    "h5": f"{_HEADING};font-size:15px",
    "h6": f"{_HEADING};font-size:15px",
    "p": "margin:0 0 14px",
    "ul": _LIST,
    "ol": _LIST,
    "li": "margin:0 0 4px",
    "a": "color:#6d28d9;text-decoration:underline",
    "blockquote": "margin:0 0 14px;padding:2px 0 2px 14px;border-left:3px solid #cfc4e6;"
    "color:#4b4560",
    "code": "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px",
    "pre": "margin:0 0 14px;padding:12px 14px;background:#f6f4fa;border:1px solid #e4dff0;"
    "border-radius:8px;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5",
    "hr": "border:0;border-top:1px solid #e4dff0;margin:20px 0",
    "table": "border-collapse:collapse;margin:0 0 14px;font-size:14px",
    "th": f"{_CELL};background:#f6f4fa;font-weight:600",
    "td": _CELL,
}
_COLOURS: Final = {
    RunStatus.SUCCEEDED: "#17633b",
    RunStatus.CANCELLED: "#7a4a00",
}
_FAILED: Final = "#a3211a"


def html_of(report: Report, *, external: bool = False) -> str:
    """The page; of the answer, sanitised HTML.

    Args:
        report: What to show.
        external: Whether its reader is not of the workspace, and gets the answer alone.
    """
    return render_to_string(
        "mail/answer.html" if external else "mail/result.html",
        {
            "report": report,
            "answer": SafeString(to_html(report.answer, styles=STYLES)),
            "colour": _COLOURS.get(report.status, _FAILED),
        },
    )
