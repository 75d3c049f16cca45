"""Remove a credential."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base import audit

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor
    from tools.models import Credential


def remove_credential(credential: Credential, *, by: Actor) -> None:
    """Delete a credential; calls that need it are refused from now on."""
    with transaction.atomic():
        audit.record_on(by, "credential.delete", credential, details={"kind": credential.kind})
        credential.delete()
