"""Limits on starting runs: quotas, pauses and halts."""
