"""Which part of a conversation a model gets: groups, strategies, summaries. Pure."""
