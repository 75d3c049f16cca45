"""Events and waits of a run, and their descriptions for people. Pure."""
