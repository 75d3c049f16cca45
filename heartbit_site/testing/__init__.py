"""Tests of agents: fixtures for pytest, scripted models and recorded runs.

Usage::

    from heartbit_site.testing import calls

    def test_it_looks_the_order_up(heartbit_run) -> None:
        run = heartbit_run(clerk, "Where is A1?", model=[calls(("orders_list", {})), "On its way."])
        run.assert_called("orders_list")

The guide: docs/howto/test-your-agents.md.
"""

from __future__ import annotations

from agents.llm.adapters.scripted import Reply, calls
from heartbit_site.testing.played_run import PlayedCall, PlayedRun

__all__ = ["PlayedCall", "PlayedRun", "Reply", "calls"]
