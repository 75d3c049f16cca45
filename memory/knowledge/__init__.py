"""Knowledge bases: documents are read in bounded processes, and searched with citations."""
