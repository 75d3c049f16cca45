"""Readers of the document formats. They run in a limited process (``reading_script``)."""
