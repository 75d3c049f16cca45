"""What a measurement of many runs needs standing: model server, agents, worker processes."""

from __future__ import annotations

import resource
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psutil

from tests.bench import workspace
from tests.bench.flow import Flow
from tests.bench.toolbox.agent_tools import APP
from tests.bench.workloads import MODEL, TOOLS
from tests.fleet import WireServer, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.models import Workspace

_FILES = 8192
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  a directory of the system, for files of our own


@dataclass(frozen=True, slots=True)
class Posts:
    """Who stands where.

    Attributes:
        workers: Worker processes.
        slots: Runs that each holds at most.
        latency_ms: The model's.
        ledger: Where the model server writes down what it was asked.
        environment: For the workers, beside the model server's address.
        tools: Of the agents that call tools.
        max_turns: Theirs.
        context: Their context strategy; None: everything is sent.
    """

    workers: int = 1
    slots: int = 100
    latency_ms: float = 0.0
    ledger: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = TOOLS
    max_turns: int = 10
    context: Mapping[str, object] | None = None


class Crew:
    """Starts everything, and ends it by its own ids."""

    def __init__(self, posts: Posts) -> None:
        self.posts = posts
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        posts = self.posts
        _allow_files()
        with ExitStack() as stack:
            self.wire = stack.enter_context(
                WireServer(ledger=posts.ledger, latency_ms=posts.latency_ms)
            )
            self.queue = f"bench-{secrets.token_hex(4)}"
            self.workspace: Workspace = workspace.create(
                queue=self.queue,
                tools=posts.tools,
                max_turns=posts.max_turns,
                context=posts.context,
            )
            model = {"OPENAI_BASE_URL": self.wire.url, "OPENAI_API_KEY": "bench"}
            environment: dict[str, str] = {
                **model,
                "HEARTBIT_MODEL": MODEL,
                "HEARTBIT_EXTRA_APPS": APP,
            }
            environment |= posts.environment
            self.workers = [
                stack.enter_context(
                    Worker(queues=self.queue, concurrency=posts.slots, environment=environment)
                )
                for _ in range(posts.workers)
            ]
            self.flow = stack.enter_context(Flow(self.workspace))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    @property
    def processes(self) -> list[psutil.Process]:
        """The workers'."""
        return [psutil.Process(worker.pid) for worker in self.workers]

    @property
    def model_server(self) -> psutil.Process:
        """The fake model server's."""
        for child in psutil.Process().children():
            if "agents.llm.testing.wire_server" in child.cmdline():
                return child
        raise RuntimeError("the model server of this measurement has ended")


def ledgers() -> Path | None:
    """Where ledgers are kept that must not compete with the database for the disk."""
    return _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None


def _allow_files() -> None:
    """A connection is a file: a thousand runs on a model want more than some shells allow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
