"""Results that go to somebody when a run ends: whereto, what is said, and how it gets there."""
