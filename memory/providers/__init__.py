"""Other memory providers, plugged in before and after the runs of agents."""
