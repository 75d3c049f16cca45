"""The kind of run ``workflow``: its engine, its state, and its nodes as tools."""
