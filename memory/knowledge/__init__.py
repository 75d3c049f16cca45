"""Knowledge bases: documents are read in limited processes, and searched with citations."""
