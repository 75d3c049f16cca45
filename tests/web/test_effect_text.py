"""A card says of every installed tool what repeating it does, and nothing that is not true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.approvals.call_display import display_call
from heartbit_site.base.effect_text import EFFECT_TEXT, describe_effect
from heartbit_site.base.toolspec import Effect
from tests.web.waiting_calls import unserved
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def test_given_each_class_then_it_has_words_of_its_own() -> None:
    assert set(EFFECT_TEXT) == set(Effect)
    assert len(set(EFFECT_TEXT.values())) == len(Effect)


def test_given_tools_that_reach_other_hosts_then_no_card_says_that_they_reach_none(
    workspace: Workspace,
) -> None:
    reaching = [spec for spec in registry.values() if "network" in spec.tags]
    assert {Effect.PURE, Effect.AT_MOST_ONCE} <= {spec.effect for spec in reaching}
    for spec in reaching:
        assert "outside" not in describe_effect(spec.effect)
    call = unserved(workspace)
    for spec in reaching:
        call.effect = spec.effect
        said = describe_effect(spec.effect)
        assert display_call(call, {}, "").effect == said
