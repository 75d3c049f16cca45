"""An app whose tools read private data and outsiders' text, and send."""
