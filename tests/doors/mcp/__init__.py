"""The MCP server, driven by the official SDK's client."""
