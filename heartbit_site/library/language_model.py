"""A language model as the beginning of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.protocol import ChatModel
from heartbit_site.library.builder import Heartbit
from heartbit_site.library.tool_sources import ResolvedTool, Tool


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model.

    Attributes:
        name: ``provider:model``, or a ``ChatModel`` object of the program.
    """

    name: str | ChatModel

    def as_agent(
        self,
        name: str = "assistant",
        prompt: str = "You are a helpful assistant.",
        *,
        tools: Sequence[Tool | ResolvedTool] = (),
        description: str = "",
        **options: Any,
    ) -> Heartbit:
        """Return an agent that uses the model: run it, talk with it, or give it to ``members``.

        Args:
            name: As for ``Heartbit.agent``, like all others.
            prompt: The system prompt.
            tools: Its tools.
            description: One sentence for the orchestrator.
            options: Other settings.

        Raises:
            ConfigurationError: A setting, or the model's name, is not valid.
        """
        own = {"model": self.name, **options}
        return Heartbit().agent(name, prompt, tools=tools, description=description, **own)
