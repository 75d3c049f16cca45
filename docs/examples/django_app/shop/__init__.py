"""A Django app whose rows are tools of agents, and start runs."""
