"""Chat apps: what they show of a wait, and the adapters of the services."""
