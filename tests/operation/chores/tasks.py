"""Found by Celery, as the `tasks` module of any Django app."""

from __future__ import annotations

from pathlib import Path

from celery import shared_task


@shared_task
def write_note(path: str, text: str) -> None:
    """Leave a note where a test finds it."""
    file = Path(path)
    half = file.with_suffix(".half")
    half.write_text(text)
    half.rename(file)
