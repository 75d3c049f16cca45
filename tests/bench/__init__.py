"""Latency and cost of the targets' workloads: ``python -m tests.bench --only W1,W2,W4``."""
