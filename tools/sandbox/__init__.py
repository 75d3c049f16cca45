"""Code by models, run where it can do no harm (docs/howto/code.md).

``find_sandbox`` returns what the installation has; there is never a weaker one in its place.
"""
