"""One module per wire dialect, with separate request building, decoding and failure mapping."""
