"""AG-UI's own types for Python: each event of a thread has the form of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.doors.agui_client import FrontEnd, answer, interrupts, text_of
from tests.interop.doors.heartbit import SUM

if TYPE_CHECKING:
    from tests.interop.doors.heartbit import Heartbit


def drive(heartbit: Heartbit) -> int:
    """Go through text, an approval and a failure; the number of events that were checked."""
    writer = FrontEnd(heartbit.url, heartbit.key, "writer", "interop-writer")
    told = writer.say("[[text: one two three]] [[stream: 100]]", "r1")
    assert text_of(told) == "one two three", told
    failed = writer.say("[[error: 400]]", "r2")
    assert failed[-1]["type"] == "RUN_ERROR", failed
    analyst = FrontEnd(heartbit.url, heartbit.key, "analyst", "interop-analyst")
    asked = analyst.say(SUM, "r1")
    [interrupt] = interrupts(asked)
    done = analyst.send("r2", resume=answer(interrupt, {"approved": True}))
    assert text_of(done) == "Done.", done
    return sum(map(len, (told, failed, asked, done)))
