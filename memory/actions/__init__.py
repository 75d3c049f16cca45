"""Changes of memories, one a file."""
