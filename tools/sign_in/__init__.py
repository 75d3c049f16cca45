"""Sign-in of people at MCP servers: OAuth 2.1 authorization code with PKCE."""
