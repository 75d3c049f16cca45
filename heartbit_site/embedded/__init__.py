"""PostgreSQL, Valkey and a small language model without separate installation.

The servers come from wheels, live under one state directory and are shared by all processes of
one user. A detached supervisor starts them on demand and stops them when no process uses them::

    from heartbit_site.embedded import client
    from heartbit_site.embedded.state import StateDirectory

    state = StateDirectory()
    client.ensure({"postgres", "valkey"}, state)
    psycopg.connect(state.database_url)

Nothing here imports Django: the settings compute their URLs from a `StateDirectory`.
"""

from __future__ import annotations
