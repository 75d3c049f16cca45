"""Client of MCP servers: their tools become tools of a workspace.

``listing`` reads and bounds what a server offers, ``specs`` turns stored definitions into tools,
``pool`` keeps a process's connections, and ``connection`` opens one: over HTTP through the guarded
client, or to a process.
"""
