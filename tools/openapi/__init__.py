"""Tools of APIs that an OpenAPI document describes: its operations, and the calls of them.

An API is an MCP server of the transport ``openapi`` (``tools.models.McpServer``), so that its
operations are stored, pinned, changed and accepted like the tools of other servers.
"""
