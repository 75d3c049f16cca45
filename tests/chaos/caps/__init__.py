"""R32: a slice dies at every write of runs that a cap on spending makes ask."""
