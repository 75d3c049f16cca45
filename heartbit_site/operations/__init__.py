"""What Heartbit can be asked to do: a function for each operation of ``heartbit_site.contract``.

Its first parameter is whoever asks, with the workspace that everything is in; the others are those
of the request. The REST API and the command line both call it.
"""
