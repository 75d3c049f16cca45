"""Messages between agents: who writes to whom, what is let through, and how it is kept."""
