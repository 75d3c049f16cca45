"""Readers of the forms of documents. They run in a bounded process (``reading_script``)."""
