"""The window onto running agents: token deltas and wake-ups, never the truth (that is the journal)."""
