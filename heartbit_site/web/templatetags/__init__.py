"""Template tags of the work pages."""
