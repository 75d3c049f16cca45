"""The window onto running agents: token deltas and wake-ups; the truth is the journal."""
