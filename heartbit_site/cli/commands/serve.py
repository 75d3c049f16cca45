"""`heartbit serve`: a worker."""

from __future__ import annotations

from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.address import check_port, parse_address

CONCURRENCY = common.option("--concurrency -c", "Runs it holds at once.", 100, min=1)
BIND = common.option("HOST:PORT", "Answer health checks there: /live and /ready.")


def serve(
    *,
    concurrency: int = CONCURRENCY,
    queues: str = common.QUEUES,
    loglevel: common.LogLevel = common.LOG_LEVEL,
    bind: str = BIND,
) -> int:
    """Start a worker, which executes submitted runs.

    On Ctrl-C or SIGTERM it hands its runs back and exits. Tool calls with effects that are under
    way get HEARTBIT_DRAIN_SECONDS (25) to finish first.
    """
    health = parse_address(bind) if bind else None
    if health is not None:
        check_port(*health, options="--bind")
    ensure_ready("heartbit_site.cli.serving.worker", waits=True)
    from heartbit_site.cli.serving import worker

    return worker.serve(concurrency=concurrency, queues=queues, loglevel=loglevel, health=health)
