"""Messages between agents: addresses, limits and storage."""
