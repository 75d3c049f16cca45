"""Models of the base app; import them from this package."""

from __future__ import annotations

from heartbit_site.base.models.alerts import AlertState
from heartbit_site.base.models.api_key import ApiKey
from heartbit_site.base.models.audit import AuditEntry
from heartbit_site.base.models.environment_key import EnvironmentKey
from heartbit_site.base.models.membership import Membership, Role
from heartbit_site.base.models.provider_account import ProviderAccount
from heartbit_site.base.models.saved_view import SavedView
from heartbit_site.base.models.usage import UsageEntry
from heartbit_site.base.models.workspace import Tier, Workspace
