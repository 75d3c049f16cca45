"""The frame around every page: whose workspace it shows, and where its reader can go.

A work page stands in a workspace's address. A page of the admin does not: its frame shows the
workspace that the person was in last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.urls import reverse
from django.utils import timezone

from heartbit_site.base.access import Access, access_of_user, enters_admin, workspaces_of
from heartbit_site.shell.live import drawn_at
from heartbit_site.shell.places import GROUPS, Place, place_of_model

if TYPE_CHECKING:
    from django.http import HttpRequest

    from heartbit_site.base.models import Workspace

#: Key of the session: the short name of the workspace that the person was in last.
LAST: Final = "workspace"


@dataclass(frozen=True, slots=True)
class PlaceEntry:
    """A place with its address, as a reader sees it."""

    place: Place
    address: str
    is_here: bool


class PageFrame:
    """The frame of one request; computed when a template asks."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def access(self) -> Access | None:
        """The reader's access to the frame's workspace; None for a person without one."""
        request: Any = self._request
        known: Access | None = getattr(request, "heartbit_access", None)
        user = request.user
        if known is not None or not user.is_authenticated:
            return known
        slugs = [one.slug for one in self.workspaces]
        last = request.session.get(LAST)
        return access_of_user(user, last if last in slugs else slugs[0]) if slugs else None

    #: Fetched at once, before the style sheet names them.
    fonts = tuple(f"heartbit/{one}.woff2" for one in ("Inter-Regular", "Inter-SemiBold", "symbols"))

    @property
    def scopes(self) -> str:
        """The reader's scopes in the workspace, for scripts."""
        return " ".join(sorted(self.access.scopes)) if self.access else ""

    @property
    def zone(self) -> str:
        """Name of the time zone in which the page shows times."""
        return timezone.get_current_timezone_name()

    @cached_property
    def workspaces(self) -> list[Workspace]:
        """The workspaces between which the reader can change."""
        return list(workspaces_of(self._request.user))

    @cached_property
    def enters_admin(self) -> bool:
        """True if the admin is open to the reader."""
        return enters_admin(self._request.user)

    @cached_property
    def is_admins(self) -> bool:
        """True for a page of the admin."""
        match = self._request.resolver_match
        return match is not None and "admin" in match.app_names

    @cached_property
    def here(self) -> str:
        """Name of the place that the page belongs to."""
        match = self._request.resolver_match
        if not self.is_admins or match is None:
            return getattr(self._request, "heartbit_place", "")
        return place_of_model((match.url_name or "").rpartition("_")[0])

    @cached_property
    def groups(self) -> list[tuple[str, list[PlaceEntry]]]:
        """The places that the reader may open, by heading."""
        found = []
        for title, places in GROUPS:
            entries = [entry for place in places if (entry := self._entry(place)) is not None]
            if entries:
                found.append((title, entries))
        return found

    @property
    def drawn_at(self) -> int:
        """Time at which the page began to be drawn, in milliseconds since 1970."""
        return drawn_at(self._request)

    @property
    def socket(self) -> str:
        """Address of the page's socket; empty for a person without a workspace."""
        if self.is_admins:
            return f"/ws/?drawn={self.drawn_at}" if self.access is not None else ""
        return f"/ws/{self.access.workspace.slug}/?drawn={self.drawn_at}" if self.access else ""

    def _entry(self, place: Place) -> PlaceEntry | None:
        access = self.access
        if access is None or not access.allows(place.needs):
            return None
        if place.is_admins and not self.enters_admin:
            return None
        arguments = [] if place.is_admins else [access.workspace.slug]
        address = reverse(place.route, args=arguments)
        return PlaceEntry(place, address, is_here=place.name == self.here)


def frame_of(request: HttpRequest) -> PageFrame:
    """Return the frame of a request, the same one whenever it is asked for."""
    known: PageFrame | None = getattr(request, "heartbit_frame", None)
    if known is None:
        known = PageFrame(request)
        request.heartbit_frame = known  # type: ignore[attr-defined]
    return known


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: ``frame`` for every page."""
    return {"frame": frame_of(request)}


def remember(request: HttpRequest, workspace: Workspace) -> None:
    """Keep the workspace that a person is in, for the admin's frame."""
    if request.session.get(LAST) != workspace.slug:
        request.session[LAST] = workspace.slug
