"""Available tools: found in code, packages and servers, and stored by hash."""
