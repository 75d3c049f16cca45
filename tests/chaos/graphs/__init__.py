"""R26: a crash at every write of random workflows."""
