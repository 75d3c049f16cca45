"""Selection of the part of a conversation that is sent to a model. Pure."""
