"""The demo that `make demo` plays: a team answers a question, and its journal is checked."""
