"""Yesterday's backup on another machine."""
