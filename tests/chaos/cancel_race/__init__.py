"""R14: a cancel races with whatever its run is doing, its end included."""
