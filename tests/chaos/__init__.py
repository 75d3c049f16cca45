"""Kill real processes and prove what was promised: ``python -m tests.chaos``."""
