"""One module per wire dialect; request building, stream decoding and failure mapping apart."""
