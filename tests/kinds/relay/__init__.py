"""An app with a kind of run that starts others, in stages."""
