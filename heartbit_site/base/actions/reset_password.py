"""Mail people a link by which they set a new password."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from heartbit_site.base import queues
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.mail_addresses import same_address
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.people import User
from heartbit_site.base.untrusted import clean_text

ASKED: Final = "user.reset"
#: Time until a person is sent another mail.
PAUSE: Final = timedelta(minutes=5)
MOST_ACCOUNTS: Final = 5  # that share an address
_BY: Final = Actor("Forgotten password", "web")
_SUBJECT: Final = "Heartbit: a new password"


def ask_for_reset(address: str) -> None:
    """Have a worker mail the accounts of an e-mail address their links.

    The caller learns nothing about accounts, not even by the time that this takes: whatever the
    address is, a message with it is sent, and the worker looks it up.

    Args:
        address: E-mail address as typed.
    """
    about = clean_text(address).strip()
    send(TaskMessage(queues.MAIL_ACCOUNT_LINKS, about, queues.SYSTEM, PAUSE.total_seconds()))


@transaction.atomic
def _may_be_sent(user: User) -> bool:
    """Return True, and audit it, if the person has a password and was sent no mail lately."""
    User.objects.select_for_update().get(pk=user.pk)
    lately = AuditEntry.objects.filter(target=f"user:{user.pk}", action=ASKED, at__gt=Now() - PAUSE)
    if not user.has_usable_password() or lately.exists():
        return False
    record_on(_BY, ASKED, user)
    return True


def mail_password_links(address: str) -> int:
    """Send the accounts of an address the links by which they set a new password.

    Args:
        address: E-mail address as typed; empty: no account's.

    Returns:
        The number of mails.

    Raises:
        OSError: The mail server is unavailable.
    """
    alike = User.objects.filter(email__iexact=address, is_active=True) if address else ()
    found = [user for user in alike if same_address(user.email, address)]
    return sum(_mail(user) for user in found[:MOST_ACCOUNTS] if _may_be_sent(user))


def _mail(user: User) -> int:
    number = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    path = reverse("password-new", args=[number, token])
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    body = (
        f"Somebody asked for a new password of {user.get_username()}. Set it here, within "
        f"{minutes} minutes:\n\n{settings.HEARTBIT_PUBLIC_URL.rstrip('/')}{path}\n\n"
        "If that was not you, do nothing: your password stays as it is.\n"
    )
    letter = EmailMessage(
        _SUBJECT, body, to=[user.email], headers={"Auto-Submitted": "auto-generated"}
    )
    return letter.send()
