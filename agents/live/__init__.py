"""Live view of running agents: token deltas and wake-ups; the source of truth is the journal."""
