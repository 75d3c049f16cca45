"""Event types of a run's journal, and their codec; import them from here. Pure."""

from __future__ import annotations

from agents.journal.events.budget import BudgetAsked
from agents.journal.events.call import (
    ApprovalEscalated,
    ApprovalLapsed,
    ApprovalRequested,
    CallWaiting,
    ChildStarted,
    OutcomeRequested,
    ScriptCalled,
    ToolFinished,
    ToolStarted,
    ToolStatus,
    WaitResolved,
)
from agents.journal.events.event import EVENTS, Event, RecordedEvent, decode, decode_row, encode
from agents.journal.events.model import (
    ContextSummarized,
    MemoriesExtracted,
    MemoriesRecalled,
    ModelAnswered,
    ModelDelayed,
    ModelInterrupted,
)
from agents.journal.events.review import ReviewRequested
from agents.journal.events.run import (
    CancelRequested,
    Closing,
    Ending,
    RunCancelled,
    RunCreated,
    RunDiscarded,
    RunFailed,
    RunForked,
    RunPaused,
    RunQuarantined,
    RunReleased,
    RunRequeued,
    RunRestored,
    RunStarted,
    RunSteered,
    RunSucceeded,
    RunUnquarantined,
)

#: Events that open a wait, given by their ``wait``.
Opening = (
    ApprovalRequested | OutcomeRequested | ModelDelayed | RunPaused | ReviewRequested | BudgetAsked
)
