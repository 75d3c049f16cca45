"""Paths of A2A."""

from __future__ import annotations

from django.urls import path, re_path

from heartbit_site.doors.a2a.cards import show_card
from heartbit_site.doors.a2a.rpc import answer_rpc, nothing_here

_CARD = ".well-known/agent-card.json"

urlpatterns = [
    path(_CARD, show_card),
    path(f"a2a/{_CARD}", show_card),
    path(f"a2a/<str:agent>/{_CARD}", show_card),
    path("a2a", answer_rpc),
    path("a2a/<str:agent>", answer_rpc),
    re_path(r"^a2a(?:/|$)", nothing_here),
]
