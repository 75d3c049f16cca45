"""The MCP server: agents and workflows as tools, runs as tasks, operations as tools."""
