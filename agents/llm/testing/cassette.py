"""Cassettes: a model's answers in a recorded run and its sub-agents, to be replayed. Pure.

A cassette is a JSON file, created by ``heartbit runs export``. It contains tasks and answers, but
no prompts, tool results, keys or reasoning. A replay calls the tools again.

Usage::

    model = Cassette.load(Path("refund.json")).model()
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import RequestRejectedError
from agents.llm.messages import AssistantMessage, ChatRequest, ToolCall, UserMessage
from heartbit_site.base.errors import ConfigurationError


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecordedCall(_Part):
    """A tool call of an answer; the arguments are JSON text, as the model wrote them."""

    tool: str
    arguments: str


class RecordedAnswer(_Part):
    """One answer of the model."""

    text: str = ""
    calls: tuple[RecordedCall, ...] = ()


class RecordedRun(_Part):
    """The answers in one run."""

    agent: str
    task: str
    answers: tuple[RecordedAnswer, ...]


class Cassette(_Part):
    """The answers in a tree of runs.

    Attributes:
        runs: Runs of the tree, the root first.
    """

    format: Literal[1] = 1
    runs: tuple[RecordedRun, ...] = Field(min_length=1)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            ConfigurationError: The file cannot be read, or is not a cassette of a known format.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ConfigurationError(
                f"The cassette {path} cannot be read: {error.strerror}."
            ) from error
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = ".".join(str(step) for step in problem["loc"]) or "its content"
            raise ConfigurationError(
                f"{path} is not a cassette that Heartbit can read ({where}: {problem['msg']}): "
                "export the run again."
            ) from error

    @property
    def task(self) -> str:
        """Task of the root run."""
        return self.runs[0].task

    def model(self, *, name: str = "cassette:model") -> ScriptedModel:
        """Return a model that repeats the recorded answers, for a run and its sub-agents."""
        given: Counter[tuple[str, int]] = Counter()

        def answer(request: ChatRequest) -> Reply:
            task, turn = self._place(request)
            recorded = [run for run in self.runs if run.task == task and turn < len(run.answers)]
            if not recorded:
                raise RequestRejectedError(
                    f"The cassette has no answer number {turn + 1} to the task {task[:80]!r}: "
                    "record the run again."
                )
            # Sub-agents with the same task get the recorded runs in turn.
            run = recorded[given[task, turn] % len(recorded)]
            given[task, turn] += 1
            return _reply(run.answers[turn], turn)

        return ScriptedModel(answer, name=name)

    def _place(self, request: ChatRequest) -> tuple[str, int]:
        """Return the task of a request that was recorded, and the number of answers since."""
        tasks = {run.task for run in self.runs}
        answers = 0
        for message in reversed(request.messages):
            if isinstance(message, UserMessage) and message.text in tasks:
                return message.text, answers
            answers += isinstance(message, AssistantMessage)
        said = [each.text for each in request.messages if isinstance(each, UserMessage)]
        return (said[0] if said else ""), answers


def _reply(answer: RecordedAnswer, turn: int) -> Reply:
    calls = (
        ToolCall(f"call_{turn}_{number}", call.tool, call.arguments)
        for number, call in enumerate(answer.calls)
    )
    return Reply(text=answer.text, tool_calls=tuple(calls))
