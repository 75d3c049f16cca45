"""Tools of a run: the offer to the model, the checks of each call, and its results."""
