"""Implementation of the contract: a function for each operation of ``heartbit_site.contract``.

The first parameter is the caller, in the workspace that everything belongs to; the others are those
of the request. The REST API and the command line both call these functions.
"""
