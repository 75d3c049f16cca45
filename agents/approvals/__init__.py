"""Approvals and uncertain calls: what people are asked, and the links they answer by."""
