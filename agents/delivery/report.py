"""Report of an ended run for its reader, as text and as an HTML mail.

Usage::

    report = report_of(run, attach=True)
    report.text()                        # Markdown, as the plain text of a mail
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.choices import RunStatus
from agents.models import Run
from agents.output.fences import in_fence
from agents.output.results import ResultOut
from agents.output.text import as_text
from agents.reads.artifacts import file_name
from agents.reads.outcome import result_of
from heartbit_site.base.audit import BY_SCHEDULE
from heartbit_site.base.markdown import LONGEST, to_html
from heartbit_site.base.visible_text import visible

MOST_ATTACHED = 10 * 2**20  # bytes, all files together
MOST_OF_TITLE = 80
MOST_OF_SUBJECT = 150
ANSWER_FILE = "report.md"


@dataclass(frozen=True, slots=True)
class File:
    """An attached file.

    Attributes:
        form: Subtype of its text: ``markdown`` or ``plain``.
    """

    name: str
    content: str
    form: str


@dataclass(frozen=True, slots=True)
class Report:
    """An ended run, for a reader.

    Attributes:
        title: The first words of the task.
        subject: The name of the schedule that started the run, else agent and title.
        status: Final status of the run.
        problem: Why the run did not succeed, as one sentence; empty if it succeeded.
        answer: Markdown; partial if the run did not succeed; may be empty.
        unseen: Number of characters cut from the end of the answer.
        files: Attached files, within the size limit.
        left_out: Files that are not attached, with their sizes.
        link: The run's page.
        reviewed_by: Person who approved the answer; empty: no one reviewed it.
    """

    run_id: UUID
    agent: str
    title: str
    subject: str
    status: RunStatus
    problem: str
    answer: str
    unseen: int
    files: tuple[File, ...]
    left_out: tuple[str, ...]
    link: str
    reviewed_by: str = ""

    def notes(self) -> list[str]:
        """Return sentences about who approved the report, and what is missing from it."""
        said = [f"Approved by {self.reviewed_by}."] if self.reviewed_by else []
        if self.unseen:
            attached = any(file.name == ANSWER_FILE for file in self.files)
            where = f"the attached {ANSWER_FILE}" if attached else "the run's page"
            said.append(
                f"The last {self.unseen:,} characters are left out here: {where} has the whole "
                "answer."
            )
        if self.left_out:
            said.append(
                f"Not attached, because all files together may have {_size(MOST_ATTACHED)}: "
                f"{', '.join(self.left_out)}. The run's page has them."
            )
        return said

    def text_outside(self) -> str:
        """Return only the answer, for readers outside the workspace."""
        return f"{self.answer}\n"

    def text(self) -> str:
        """Return the report as plain text; the answer stays Markdown."""
        answer = self.answer
        if not answer and not self.problem:
            answer = "The run ended without an answer."
        elif answer and self.problem:
            answer = f"What it had produced:\n\n{answer}"
        parts = filter(None, (self.problem, answer, *self.notes()))
        return "\n\n".join([*parts, f"-- \n{self.agent} · {self.status.label}\n{self.link}\n"])


def report_of(run: Run, *, attach: bool) -> Report:
    """Build the report of an ended run, with its files if ``attach`` is true."""
    result = result_of(run)
    answer = _answer(result)
    agent, title = one_line(run.agent, MOST_OF_TITLE), one_line(run.task, MOST_OF_TITLE)
    is_scheduled = run.started_by.startswith(BY_SCHEDULE)
    subject = run.started_by.removeprefix(BY_SCHEDULE) if is_scheduled else f"{agent}: {title}"
    files, left_out = _fitting(_files(result, answer) if attach else iter(()))
    return Report(
        run_id=run.pk,
        agent=agent,
        title=title,
        subject=one_line(subject, MOST_OF_SUBJECT),
        status=RunStatus(run.status),
        problem=visible(result.error or ""),
        answer=answer[:LONGEST].strip(),
        unseen=max(0, len(answer) - LONGEST),
        files=tuple(files),
        left_out=tuple(left_out),
        link=f"{settings.HEARTBIT_PUBLIC_URL}/w/{run.workspace.slug}/runs/{run.pk}/",
        reviewed_by=visible(result.reviewed_by or ""),
    )


def answer_file(run: Run, name: str) -> str:
    """Return the whole answer of an ended run as the text of a file; empty without an answer.

    A structured answer is JSON in a file whose name ends in ``.json``, else a block of Markdown.
    """
    result = result_of(run)
    data = result.structured
    if name.endswith(".json") and data is not None:
        return as_text(data)
    return _answer(result)


def one_line(text: str, most: int) -> str:
    """Return a text as one line with hidden characters made visible, cut after a word."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def _answer(result: ResultOut) -> str:
    data = result.structured
    if data is None or isinstance(data, str):
        return result.text if data is None else data
    return in_fence(as_text(data), "json")


def _files(result: ResultOut, answer: str) -> Iterator[File]:
    if answer.strip():
        yield File(ANSWER_FILE, answer, "markdown")
    for artifact in result.artifacts:
        # A file artifact is a copy of the answer, or stored.
        if artifact.kind not in ("file", "log"):
            yield File(file_name(artifact), artifact.content, "plain")


def _fitting(files: Iterator[File]) -> tuple[list[File], list[str]]:
    """Split files into those to attach, and the names and sizes of the others."""
    taken: list[File] = []
    left_out: list[str] = []
    room = MOST_ATTACHED
    for file in files:
        size = len(file.content.encode())
        if size <= room:
            taken.append(file)
            room -= size
        else:
            left_out.append(f"{file.name} ({_size(size)})")
    return taken, left_out


def _size(size: int) -> str:
    return filesizeformat(size).replace("\xa0", " ")


_CELL = "border:1px solid #ddd6ec;padding:6px 10px;vertical-align:top"
_HEADING = "margin:14px 0 8px;line-height:1.3;color:#1f1a2e"
_LIST = "margin:0 0 14px;padding-left:24px"
#: Inline styles of the answer's elements.
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
    "th": f"{_CELL};text-align:left;background:#f6f4fa;font-weight:600",
    "td": _CELL,
}
_COLOURS: Final = {
    RunStatus.SUCCEEDED: "#17633b",
    RunStatus.CANCELLED: "#7a4a00",
}
_FAILED: Final = "#a3211a"


def html_of(report: Report, *, external: bool = False) -> str:
    """Return the page; the answer in it is sanitised HTML.

    Args:
        report: The report.
        external: True for a reader outside the workspace, who gets only the answer.
    """
    return render_to_string(
        "mail/answer.html" if external else "mail/result.html",
        {
            "report": report,
            "answer": SafeString(to_html(report.answer, styles=STYLES)),
            "colour": _COLOURS.get(report.status, _FAILED),
        },
    )
