"""The commands' surfaces: arguments, help and nothing that is slow to import."""
