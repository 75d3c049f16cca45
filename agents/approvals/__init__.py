"""Approvals and uncertain calls: what people decide, and the signed links they use."""
