"""R15: everything a model provider can do wrong, played through the real runtime."""
