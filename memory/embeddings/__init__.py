"""Embeddings of memories: vectors that lie close together for texts of close meaning."""
