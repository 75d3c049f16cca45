"""Actions on memories, one per file."""
