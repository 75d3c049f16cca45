"""OpenAPI documents: their operations as tools, and the requests of a call. Pure.

An API is an MCP server of the transport ``openapi`` (``tools.models.McpServer``), so that its
operations are stored, pinned, changed and accepted like the tools of other servers:
``tools.mcp.api_reading`` reads them, and ``tools.mcp.api_calls`` calls them.
"""
