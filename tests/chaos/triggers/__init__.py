"""R31: processes die between a row, the run that its change starts, and the effect of that run."""
