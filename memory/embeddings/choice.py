"""Choice of the embedding model of a workspace."""

from __future__ import annotations

from django.conf import settings
from django.utils.module_loading import import_string

from memory.embeddings.local import LOCAL, local_embedder
from memory.embeddings.protocol import Embedder


def make_embedder(workspace_id: int, model: str) -> Embedder:
    """Return a workspace's embedding model.

    Args:
        workspace_id: The workspace, whose account with the provider is used.
        model: ``local``, or ``provider:model`` of an OpenAI-compatible provider.

    Raises:
        EmbeddingError: It is not installed, or the workspace has no account with the provider.
    """
    if model == LOCAL:
        return local_embedder()
    # Providers and their accounts are of the app `agents`, which is above this one.
    made: Embedder = import_string(settings.HEARTBIT_ACCOUNT_EMBEDDER)(workspace_id, model)
    return made
