"""Remote agents that speak A2A 1.0: each is one tool, whose calls wait without a worker."""
