"""Actions on memories, knowledge bases and their settings."""
