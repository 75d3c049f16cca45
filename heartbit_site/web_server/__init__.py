"""The web process: uvicorn, with the limits that hold before Django reads anything.

``serve.serve`` starts it, and so does ``python -m heartbit_site.web_server``.
"""
