"""Provider accounts in the admin: keys go in and never come out."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from redis.exceptions import RedisError
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget

from agents.actions.environment_keys import check_environment_key, known_environment_keys
from agents.actions.provider_accounts import (
    HOSTED,
    check_account,
    remove_provider_account,
    save_provider_account,
)
from agents.admin import formatting
from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.open_circuits import OpenCircuit, close_circuit, open_circuits
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, ago, health_pill, latency, link, pill, two_lines
from heartbit_site.admin.permissions import permissions_for, rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base import amounts
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import ProviderAccount, UsageEntry

_FACTS: Any = (
    ("Health", {"fields": ("health", "finding", "checked", "calls")}),
    ("Usage of the workspace", {"fields": ("today", "month")}),
)


class ProviderAccountForm(VerbForm[ProviderAccount]):
    """An account; the key can be written here and not read."""

    key = forms.CharField(
        required=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Encrypted when saved, and never shown again.",
    )
    renamed: ClassVar = {"": "key"}  # what names no column is about the key

    class Meta:
        model = ProviderAccount
        fields = (
            *("workspace", "provider", "label", "base_url", "enabled"),
            *("requests_per_minute", "tokens_per_minute"),
        )
        widgets = {
            "provider": UnfoldAdminSelectWidget(choices=[(name, name) for name in sorted(HOSTED)])
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "key" in self.fields and self.instance.secret:
            hint = self.instance.key_hint
            ends = f" that ends in {hint}" if hint else ""
            self.fields["key"].help_text = f"Empty: the present key{ends} is kept."


@admin.register(ProviderAccount)
class ProviderAccountAdmin(VerbAdmin[ProviderAccount]):
    """Whose key pays for a workspace's model calls, and whether it works."""

    needs: ClassVar = rights("runs:read", "workspace:manage", check="workspace:manage")
    audit_name = "provider_account"
    unsaid = frozenset({"key"})
    remove = staticmethod(remove_provider_account)
    form = ProviderAccountForm
    list_display = ("who", "workspace", "hint", "limits", "health", "calls", "checked", "enabled")
    below_list = "admin/base/provideraccount/environment_keys.html"
    list_select_related = ("workspace",)
    list_filter = ("workspace", "provider", "enabled")
    search_fields = ("provider", "label")
    actions_row = ("check_now",)
    actions_detail = ("check_now", "close_circuit")
    warn_unsaved_form = True
    fixed = ("workspace", "provider")  # the key is bound to them
    readonly_fields = flatten_fieldsets(_FACTS)
    fieldsets = (
        (None, {"fields": ("workspace", "provider", "label", "key", "base_url", "enabled")}),
        ("Limits", {"fields": (("requests_per_minute", "tokens_per_minute"),)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: ProviderAccount | None = None) -> Any:
        """Return the fields; a new account has no health and no usage to show."""
        shown = super().get_fieldsets(request, obj)
        return shown if obj is None else (*shown, *_FACTS)

    def get_urls(self) -> list[URLPattern]:
        """Add the address that checks a key of the environment."""
        view = self.admin_site.admin_view(self.check_environment)
        own = path("environment/<slug:provider>/", view, name="base_provideraccount_environment")
        return [own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list, and to administrators of the installation the environment's keys."""
        context = dict(extra_context or {})
        if permissions_for(request).everywhere:
            context["environment_keys"] = [
                (row, health_pill(row), latency(row.latency_ms), ago(row.checked_at))
                for row in known_environment_keys()
            ]
        return super().changelist_view(request, context)

    def check_environment(self, request: HttpRequest, provider: str) -> HttpResponse:
        """Check a key of the environment, and show the list again."""
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        if not permissions_for(request).everywhere:
            raise PermissionDenied
        try:
            health = check_environment_key(provider, by=actor_of(request))
        except HeartbitError as error:
            messages.error(request, str(error))
        else:
            level = messages.SUCCESS if health.ok else messages.ERROR
            messages.add_message(request, level, f"{provider}: {health.message}")
        return redirect("admin:base_provideraccount_changelist")

    def save_row(self, request: HttpRequest, row: ProviderAccount, form: Any) -> None:
        """Save the account; an empty key keeps the present one."""
        save_provider_account(row, key=form.cleaned_data["key"] or None, by=actor_of(request))

    # ------------------------------------------------------------------------------------- columns

    who = Column[ProviderAccount]("account", lambda row: two_lines(row.provider, row.label))

    @admin.display(description="key")
    def hint(self, account: ProviderAccount) -> str:
        """Return the end of the key; the rest is never shown."""
        if not account.secret:
            return "None"
        return f"...{account.key_hint}" if account.key_hint else "Set"

    @admin.display(description="limits a minute")
    def limits(self, account: ProviderAccount) -> str:
        """Both limits with their units."""
        limits = (account.requests_per_minute, "calls"), (account.tokens_per_minute, "tokens")
        said = [f"{limit:,} {unit}" for limit, unit in limits if limit is not None]
        return ", ".join(said) or "None"

    health = Column[ProviderAccount]("health", health_pill)

    @admin.display(description="checked")
    def checked(self, account: ProviderAccount) -> str:
        """Return the time since the last check, and how long that took."""
        at = ago(account.checked_at)
        took = account.latency_ms
        return at if took is None else f"{at}, in {latency(took)}"

    @admin.display(description="circuit breaker")
    def calls(self, account: ProviderAccount) -> SafeString:
        """Return the circuit's state: whether workers call the provider or back off."""
        known: dict[str, OpenCircuit] | None = getattr(account, "circuits", None)
        if known is None:
            return pill("Unknown")
        circuit = known.get(account_name(account.pk))
        if circuit is None:
            return pill("Closed", tone="success")
        if circuit.seconds_left > 0:
            return pill(f"Open for {circuit.seconds_left:.0f} s", tone="danger")
        return pill("Half open", tone="warning")

    finding = Column[ProviderAccount](
        "result",
        lambda row: row.health_message or "It is checked every ten minutes while it is enabled.",
    )

    today = Column[ProviderAccount]("last 24 hours", lambda row: _usage(row, timedelta(hours=24)))
    month = Column[ProviderAccount]("last 30 days", lambda row: _usage(row, timedelta(days=30)))

    def look_at(self, request: HttpRequest, rows: Collection[ProviderAccount]) -> None:
        """Set at each account which circuits are open; none while Valkey is unavailable."""
        try:
            circuits = open_circuits(settings.REDIS_URL, [account_name(row.pk) for row in rows])
        except RedisError:
            return
        for row in rows:
            row.circuits = circuits  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------- actions

    @dialog(
        "Check now",
        "The provider is asked for its list of models, which costs nothing.",
        icon="network_check",
        permission="check",
    )
    def check_now(self, request: HttpRequest, account: ProviderAccount, form: DialogForm) -> None:
        """Check, and show the same page again."""
        health = check_account(account)
        level = messages.SUCCESS if health.ok else messages.ERROR
        messages.add_message(request, level, f"{account}: {health.message}")

    @dialog(
        "Close circuit breaker",
        "Its provider kept failing, so workers back off for a while. From now on they call it as "
        "usual, until it keeps failing again.",
        icon="electrical_services",
        permission="check",
        offered=lambda account: bool(getattr(account, "circuits", None)),
    )
    def close_circuit(self, request: HttpRequest, row: ProviderAccount, form: DialogForm) -> None:
        """Let workers call it again, and show the same page."""
        try:
            close_circuit(settings.REDIS_URL, account_name(row.pk))
            self.note(request, "call_again", row)
            messages.success(request, f"{row}: workers call it again.")
        except RedisError as error:
            messages.error(request, f"{row}: Valkey is unavailable ({error}); try again.")


def _usage(account: ProviderAccount, span: timedelta) -> SafeString:
    """Return the workspace's usage of the provider in a span until now, as a link to its usage."""
    asked = {
        "workspace": account.workspace_id,
        "model__startswith": f"{account.provider}:",
        "at__gte": (timezone.now() - span).isoformat(),
    }
    spent = UsageEntry.objects.filter(**asked).aggregate(
        calls=Count("pk"),
        unpriced=Count("pk", filter=Q(cost_usd__isnull=True)),
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        usd=Sum("cost_usd", default=Decimal(0)),
    )
    price = formatting.cost(spent["usd"], spent["calls"], spent["unpriced"])
    tokens = formatting.tokens(spent["read"], spent["written"])
    page = reverse("web:health-usage", args=[account.workspace.slug])
    return link(page, f"{tokens} · {amounts.counted(spent['calls'], 'call')} · {price}")
