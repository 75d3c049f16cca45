"""Paths of OpenAI's API."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.urls import path, re_path

from heartbit_site.doors.openai.chat import chat_completions
from heartbit_site.doors.openai.errors import error_body
from heartbit_site.doors.openai.models import list_models, show_model


async def nothing_here(request: HttpRequest) -> JsonResponse:
    """Answer requests to every other path below ``/v1/``."""
    message = f"There is nothing at {request.path}: this server has models and chat/completions."
    return JsonResponse(error_body(404, "not_found", message), status=404)


urlpatterns = [
    path("v1/models", list_models),
    path("v1/models/<str:name>", show_model),
    path("v1/chat/completions", chat_completions),
    re_path(r"^v1(?:/|$)", nothing_here),
]
