"""The process of the local model: an OpenAI- and Anthropic-compatible HTTP server.

Run by the supervisor as `python -m heartbit_site.embedded.local_model_server WEIGHTS RECORD UID
GID`. It writes its address into RECORD when it is ready, continues as UID and GID, and ends when
its standard input closes, which the kernel does when the supervisor ends.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import xllamacpp

from heartbit_site.base import variables

_SLOTS: Final = 3
_CONTEXT_TOKENS_PER_SLOT: Final = 4096


def main() -> None:
    """Load the weights, serve them and wait for the end of standard input."""
    weights, record, uid, gid = sys.argv[1:]
    server = xllamacpp.Server(_parameters(weights))
    url = str(server.listening_address)
    _wait_until_healthy(url)
    _publish(Path(record), {"url": url, "pid": os.getpid()})
    _become(int(uid), int(gid))
    sys.stdin.buffer.read()
    # Nothing is left to save, and the interpreter's exit would wait for requests in progress.
    os._exit(0)


def default_threads(cores: int | None) -> int:
    """Return the number of computing threads for a machine of `cores` cores.

    Threads spin while they wait for each other, so two threads on two cores with other load reach a
    tenth of the speed of one.
    """
    return 2 if (cores or 1) >= 4 else 1


def _parameters(weights: str) -> xllamacpp.CommonParams:
    threads = variables.LOCAL_MODEL_THREADS.read() or default_threads(os.cpu_count())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = _SLOTS
    parameters.n_ctx = _SLOTS * _CONTEXT_TOKENS_PER_SLOT
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    # The default cache holds up to 8 GiB of prompts.
    parameters.cache_ram_mib = 0
    parameters.ui = False
    parameters.endpoint_metrics = True
    parameters.verbosity = 0
    return parameters


def _wait_until_healthy(url: str) -> None:
    address = urlsplit(url)
    while True:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except ConnectionError:
            pass
        finally:
            connection.close()
        time.sleep(0.01)


def _publish(record: Path, content: dict[str, object]) -> None:
    unfinished = record.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    # Exclusive creation: the server user can write to the directory, and may have put a link there.
    with unfinished.open("x") as file:
        json.dump(content, file)
    unfinished.rename(record)


def _become(uid: int, gid: int) -> None:
    if os.geteuid() != uid:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


if __name__ == "__main__":
    main()
