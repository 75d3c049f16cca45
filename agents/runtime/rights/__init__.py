"""Rights behind a call: its person, grants, decisions, and the rule on mixed data."""
