"""R2: a worker dies at every boundary of a run, with every class of tool."""
