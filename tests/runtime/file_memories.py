"""A memory provider that keeps what it is given in one file: another implementation, for tests."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.providers.protocol import ProvidedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.providers.protocol import MemoryContext, Said

#: Names the folder of the file.
FOLDER = "FILE_MEMORIES"
#: A file of this name in the folder: the worker dies once, after it has stored.
DIE = "die"
#: Its text is what the provider does instead of its work: ``hang`` or ``fail``.
MOOD = "mood"
PRIVATE = "said in confidence"


class FileMemories:
    """One line of JSON for each run; the last one of a run counts."""

    def __init__(self) -> None:
        self._folder = Path(os.environ[FOLDER])
        self._file = self._folder / "memories"

    def before(self, run: MemoryContext, task: str) -> Sequence[ProvidedText]:
        """Return what the person has said, the last first."""
        self._show_mood()
        rows = [row for row in self.rows() if row["owner"] == _owner(run)]
        return [
            ProvidedText(text, f"file, said in run {row['run']}", "all of it", from_outsiders=False)
            for row in reversed(rows)
            for text in row["said"]
        ]

    def after(self, run: MemoryContext, said: Sequence[Said]) -> None:
        """Store what the person has said."""
        self._show_mood()
        row = {
            "run": str(run.run_id),
            "owner": _owner(run),
            "said": [one.text.partition(" [[")[0] for one in said if one.by == "person"],
        }
        with self._file.open("a") as file:
            file.write(f"{json.dumps(row)}\n")
        if (self._folder / DIE).exists():
            (self._folder / DIE).unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def erase(self, workspace_id: int, user_id: int, agent: str) -> None:
        """Rewrite the file without the person."""
        self._show_mood()
        kept = [
            row
            for row in self.rows()
            if row["owner"][::2] != [workspace_id, user_id] or agent not in ("", row["owner"][1])
        ]
        self._file.write_text("".join(f"{json.dumps(row)}\n" for row in kept))

    def rows(self) -> list[dict[str, Any]]:
        """Return what it knows: one row for each run."""
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        rows = [json.loads(line) for line in lines]
        return list({row["run"]: row for row in rows}.values())

    def _show_mood(self) -> None:
        mood = self._folder / MOOD
        match mood.read_text() if mood.exists() else "":
            case "hang":
                time.sleep(2)
            case "fail":
                raise LookupError(PRIVATE)


def _owner(run: MemoryContext) -> list[Any]:
    return [run.workspace_id, run.agent, run.user_id]
