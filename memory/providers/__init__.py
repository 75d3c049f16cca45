"""Other memory providers, called before and after the runs of agents."""
