"""Programs of Heartbit's own that run in a sandbox, as files: nothing imports them."""
