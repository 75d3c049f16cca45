"""Paths of OpenAI's API."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.urls import path, re_path

from heartbit_site.doors.openai.chat import chat_completions
from heartbit_site.doors.openai.errors import error_body
from heartbit_site.doors.openai.models import list_models, show_model
from heartbit_site.doors.openai.responses import (
    cancel_response,
    create_response,
    retrieve_response,
)


async def nothing_here(request: HttpRequest) -> JsonResponse:
    """Answer requests to every other path below ``/v1/``."""
    message = f"There is nothing at {request.path}: there are models, chat/completions, responses."
    return JsonResponse(error_body(404, "not_found", message), status=404)


urlpatterns = [
    path("v1/models", list_models),
    path("v1/models/<str:name>", show_model),
    path("v1/responses", create_response),
    path("v1/responses/<str:name>", retrieve_response),
    path("v1/responses/<str:name>/cancel", cancel_response),
    path("v1/chat/completions", chat_completions),
    re_path(r"^v1(?:/|$)", nothing_here),
]
