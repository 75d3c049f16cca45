"""AG-UI 1.0: each agent and workflow behind a front end, each run durable."""
