"""The guarded HTTP client: the only client for requests that a model can steer.

Usage::

    from heartbit_site.base.http.allow import parse_allow
    from heartbit_site.base.http.client import GuardedClient

    async with GuardedClient(allow=parse_allow("wiki.internal:8080, 10.1.0.0/16:443")) as http:
        response = await http.get(url)  # BlockedAddressError, OutboundLimitError or httpx.HTTPError

``backend`` explains where addresses are checked.
"""
