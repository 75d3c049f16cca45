"""A group chat: agents that speak in turn, until a termination holds.

Each message takes two supersteps: the speaker's run, and one that takes its answer down; a
moderator or a judge adds one. A participant is sent the task, its own last message, and all that
was said since.
"""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from agents.workflows.patterns import texts
from agents.workflows.patterns.selectors import LAST, ROUND_ROBIN, Selector, read_selector
from agents.workflows.patterns.settings import Agents, Content, PatternSpec
from agents.workflows.patterns.terminations import AGREES, Termination, read_termination

_BEGIN: Final = "begin chat"


class GroupChatSpec(PatternSpec):
    """Settings of ``group_chat``; the output is the last message."""

    agents: Agents = Field(description="Participants.")
    select: Annotated[Selector, BeforeValidator(read_selector)] = Field(
        ROUND_ROBIN, description="Rule that chooses the next speaker."
    )
    end: Annotated[Termination, BeforeValidator(read_termination)] = Field(
        description="Condition after which the chat ends."
    )

    def expand(self) -> Content:
        """Return the graph of the chat (see ``PatternSpec``)."""
        names = list(self.agents)
        self._check_names(names)
        queue = "[n for n in state.queue if n != message.speaker] + [message.speaker]"
        take_down = {"transcript": "{{ message }}", "queue": f"{{{{ {queue} }}}}"}
        nodes: list[dict[str, Any]] = [
            {"name": _BEGIN, "set": {}},
            *({"name": name, "agent": name, "task": self._task(name)} for name in names),
            {"name": texts.TAKE_DOWN, "set": take_down},
        ]
        edges = [*texts.take_down(names), self._to_next(_BEGIN, ""), *self._after_message()]
        if self.select.moderator:
            nodes.append(self._moderator())
            edges.append(self._to_speaker(self._moderator()["name"], ""))
        if self.end.judge:
            nodes.append(self._judge())
        state = {"transcript": texts.TRANSCRIPT, "queue": {"merge": "set", "initial": names}}
        return {"nodes": nodes, "edges": edges, "start": [_BEGIN], "state": state}

    def _check_names(self, names: list[str]) -> None:
        if not self.select.may_repeat and len(names) == 1:
            raise ValueError("select.no_repeat leaves no one to speak; name two agents or more")
        for name, other in permutations(names, 2) if self.select.hint else ():
            if other.startswith(name):
                raise ValueError(
                    f'select is smart, which takes "@{other}" for "@{name}"; rename one of them'
                )

    def _after_message(self) -> list[dict[str, Any]]:
        """Return the edges that end the chat, ask the judge, or continue."""
        end, output = self.end, "{{ state.transcript[-1].text }}"
        done = {"from": texts.TAKE_DOWN, "when": end.certain, "output": output}
        is_open = f"not ({end.certain})"
        if not end.judge:
            return [done, self._to_next(texts.TAKE_DOWN, is_open)]
        judge = self._judge()["name"]
        return [
            done,
            {"from": texts.TAKE_DOWN, "when": f"{is_open} and ({end.possible})", "to": judge},
            self._to_next(texts.TAKE_DOWN, f"{is_open} and not ({end.possible})"),
            {"from": judge, "when": AGREES, "output": output},
            self._to_next(judge, f"not ({AGREES})"),
        ]

    def _to_next(self, source: str, when: str) -> dict[str, Any]:
        """Return the edge to the moderator, or to the speaker if there is no moderator."""
        if not self.select.moderator:
            return self._to_speaker(source, when)
        return {"from": source, "to": self._moderator()["name"], "when": when}

    def _to_speaker(self, source: str, when: str) -> dict[str, Any]:
        chosen = f"({self.select.candidates})[:1]"
        return {"from": source, "to": list(self.agents), "select": chosen, "when": when}

    def _task(self, name: str) -> str:
        others = {one: role for one, role in self.agents.items() if one != name}
        place = f"You are {name}, in a discussion with:\n{texts.roster(others)}" if others else ""
        since = f"Your last message, if any, and what was said since:\n\n{texts.said_since(name)}"
        return "\n\n".join(["{{ input }}", f"{place}{self.select.hint}".strip(), since])

    def _moderator(self) -> dict[str, Any]:
        agent = self.select.moderator
        others = f"[n for n in state.queue if n not in {LAST}]"
        names = "state.queue" if self.select.may_repeat else others
        choice = f"Answer with one name alone: {{{{ join({names}, ' or ') }}}}."
        request = f"{self.select.question} {choice}"
        task = texts.overview("You moderate a discussion.", self.agents, request)
        return {"name": f"{agent} chooses", "agent": agent, "task": task}

    def _judge(self) -> dict[str, Any]:
        agent = self.end.judge
        request = f"{self.end.question} Answer with yes or no alone."
        task = texts.overview("You judge a discussion.", self.agents, request)
        return {"name": f"{agent} judges", "agent": agent, "task": task}
