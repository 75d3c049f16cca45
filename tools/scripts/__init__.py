"""Scripts of models: tools as Python functions, and the interpreter that runs what calls them."""
