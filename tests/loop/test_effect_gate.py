"""External effects of a slice that has to leave."""

from __future__ import annotations

import asyncio

from agents.loop.effect_gate import EffectGate


async def _alive() -> None: ...


def gate() -> tuple[EffectGate, list[str]]:
    stops: list[str] = []
    return EffectGate(_alive, lambda: stops.append("stopped")), stops


async def test_without_an_effect_the_slice_stops_at_once() -> None:
    effects, stops = gate()
    async with effects.effect():
        pass
    assert stops == [], "nothing has to leave"
    effects.drain()
    assert stops == ["stopped"]


async def test_all_effects_under_way_end_first_and_none_begins() -> None:
    effects, stops = gate()
    async with effects.effect():
        async with effects.effect():
            effects.drain()
            late = asyncio.ensure_future(effects.effect().__aenter__())
            assert stops == []
        assert stops == [], "the outer effect is still running"
    assert stops == ["stopped"]
    await asyncio.wait([late], timeout=0.05)
    assert not late.done()
    late.cancel()
