"""Events of a workspace for other programs: one list of types, read as stream and by webhooks."""
