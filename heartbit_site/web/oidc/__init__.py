"""Sign-in of people at an OpenID Connect issuer (the extra ``oidc``, which only this room imports).

allauth makes the authorization request, keeps its state and PKCE verifier in the session, exchanges
the code, and stores which account a subject of the issuer opens. What it leaves out is here: the
guarded client instead of ``requests``, the signature of the ID token, its nonce, and who may open
what.
"""
