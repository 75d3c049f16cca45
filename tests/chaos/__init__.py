"""Kill, freeze and starve real processes, and prove what was promised: ``python -m tests.chaos``."""
