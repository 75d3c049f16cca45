"""Tools of a run: those offered, the checks of each call, and its results."""
