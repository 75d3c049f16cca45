"""S12: what hostile text does at every edge where Heartbit reads some: it is refused, in words."""
