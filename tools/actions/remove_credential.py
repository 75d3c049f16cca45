"""Remove a credential."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.credentials import SignInCredential
from tools.credentials.values import reveal
from tools.models import Credential
from tools.sign_in.revocation import revoke_tokens


def remove_credential(credential: Credential, *, by: Actor) -> str:
    """Delete a credential; later calls that need it are refused.

    Returns:
        The outcome of revoking a sign-in's tokens, as a sentence; empty for other credentials.
    """
    with transaction.atomic():
        # Under the lock, which a renewal of the tokens holds as well.
        row = Credential.objects.select_for_update(of=("self",)).filter(pk=credential.pk).first()
        value = None if row is None or row.kind != SignInCredential.kind else reveal(row)
        audit.record_on(by, "credential.delete", credential, details={"kind": credential.kind})
        credential.delete()
    return revoke_tokens(value) if isinstance(value, SignInCredential) else ""
