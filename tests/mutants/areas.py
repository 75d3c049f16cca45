"""What is mutated, and the tests that have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.mutants import python_source, sql_source

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mutants.mutant import Mutant


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the core.

    Attributes:
        sources: Patterns of its files.
        tests: Arguments of pytest, the quickest tests first.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def mutants(self, root: Path) -> list[Mutant]:
        """Return every mutant of the area's files."""
        paths = sorted({path for pattern in self.sources for path in root.glob(pattern)})
        return [
            mutant
            for path in paths
            for mutant in (sql_source if path.suffix == ".sql" else python_source).mutants(
                path.relative_to(root), path.read_bytes()
            )
        ]


AREAS: Final = {
    "loop": Area(
        ("agents/loop/*.py",),
        (
            *("tests/loop", "tests/runtime", "tests/output", "tests/runs/test_checkpoints.py"),
            *("tests/messaging/test_endless.py", "tests/travel", "tests/kinds"),
            "tests/library/test_run.py",
        ),
    ),
    "runs": Area(
        ("agents/runs/*.py", "agents/runs/sql/*.sql"),
        (
            *("tests/runs", "tests/quotas", "tests/operation/test_pauses.py", "tests/travel"),
            *("tests/operation/test_own_pauses.py", "tests/operation/test_quarantine.py"),
            *("tests/operation/test_archive.py", "tests/messaging/test_patience.py"),
            *("tests/operation/test_fleet.py", "tests/runtime"),
        ),
    ),
    "pipeline": Area(
        ("tools/*.py",),
        (
            *("tests/tools", "--ignore=tests/tools/sandbox", "--ignore=tests/tools/connectors"),
            *("tests/runtime/test_loop.py", "tests/runtime/test_stopped_tools.py"),
            *("tests/runtime/test_big_results.py", "tests/runtime/test_orm_tools.py"),
            *("tests/cli/test_question.py", "tests/cli/test_questions.py"),
        ),
    ),
    "decisions": Area(
        (
            "agents/actions/decide_call.py",
            "agents/approvals/links.py",
            "agents/runtime/rights/decision_rights.py",
        ),
        (
            *("tests/runs/test_decisions.py", "tests/runtime/test_approvals.py"),
            *("tests/runtime/test_lost_right.py", "tests/api/test_decisions.py"),
            *("tests/web/test_questions.py", "tests/web/test_question_links.py"),
            *("tests/web/test_approvals.py", "tests/web/test_approval_integrity.py"),
            *("tests/web/test_decided_elsewhere.py", "tests/runtime/test_call_credentials.py"),
            "tests/runtime/test_mixed_data.py",
        ),
    ),
    "auth": Area(
        (
            "heartbit_site/api/auth.py",
            "heartbit_site/base/access.py",
            "heartbit_site/api/rate_limit.py",
        ),
        (
            *("tests/accounts", "tests/api/test_auth.py", "tests/api/test_guesses.py"),
            *("tests/api/test_rate.py", "tests/web/test_matrix.py", "tests/web/test_sockets.py"),
            *("tests/web/test_admin_entry.py", "tests/api/test_openapi.py"),
        ),
    ),
    "quotas": Area(
        (
            "agents/limits/quotas.py",
            "agents/limits/pauses.py",
            "agents/runtime/providers/budgets.py",
        ),
        (
            *("tests/quotas", "tests/runtime/test_budgets.py", "tests/operation/test_pauses.py"),
            *("tests/operation/test_own_pauses.py", "tests/operation/test_tool_pause.py"),
        ),
    ),
    "schedules": Area(
        ("scheduling/*.py", "scheduling/actions/*.py"),
        ("tests/scheduling", "tests/api/test_schedules.py", "tests/config/test_schedules.py"),
    ),
    "housekeeping": Area(
        ("agents/housekeeping/*.py",),
        (
            *("tests/operation/test_archive.py", "tests/operation/test_prune.py"),
            *("tests/delivery/test_surfaces.py", "tests/messaging/test_guard.py"),
            *("tests/inbound/test_webhooks_in.py", "tests/web/test_webhooks.py"),
            *("tests/scheduling/test_overdue.py", "tests/runtime/test_erasure.py"),
        ),
    ),
    "scripts": Area(
        ("tools/scripts/*.py",),
        (
            *("tests/tools/test_scripts.py", "tests/runtime/test_code_mode.py"),
            "tests/runtime/test_script_waits.py",
        ),
    ),
    "sandbox": Area(
        ("tools/sandbox/*.py",),
        (
            *("tests/tools/sandbox/test_docker.py", "tests/tools/sandbox/test_bubblewrap.py"),
            "tests/tools/sandbox/test_forged.py",
            *("tests/runtime/test_sandbox_watch.py", "tests/runtime/test_code.py"),
            *("tests/tools/sandbox/test_remote.py", "tests/runtime/test_folder.py"),
            "tests/tools/sandbox/test_battery.py",
        ),
    ),
    "memory": Area(
        (
            *("agents/loop/extraction.py", "agents/runtime/memories/extraction_source.py"),
            *("agents/runtime/memories/store_extracted.py", "memory/*.py", "memory/actions/*.py"),
        ),
        (
            *("tests/memory", "tests/runtime/test_extraction.py", "tests/cli/test_memory.py"),
            *("tests/runtime/test_known_memories.py", "tests/runtime/test_memory_provider.py"),
            "tests/runtime/test_memory_poisoning.py",
        ),
    ),
}
