"""The processes of `heartbit up`, and workers."""
