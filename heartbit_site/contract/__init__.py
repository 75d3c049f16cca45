"""Operations of Heartbit: the name, input and answer of each.

A noun has a module here with its operations and their pydantic models, and one in
``heartbit_site.operations`` with a function for each, of the same name. The REST API, its OpenAPI
document, the command line and its client of a server are derived from these two. Nothing here
imports Django: a command that asks a server needs no database, and starts fast.
docs/contributing/add-a-rest-noun.md says how to add one.
"""
