"""The A2A protocol (1.0): agents and workflows as agents of other programs' agents."""
