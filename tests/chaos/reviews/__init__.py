"""R30: a slice dies at every write of runs whose results people review."""
