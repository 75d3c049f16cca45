"""Calendars at a CalDAV server (RFC 4791), over the guarded client.

The package ``caldav`` is not used: its own HTTP client would bypass the guard against internal
addresses.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from tools.connectors.calendars import icalendar_process
from tools.connectors.calendars.events import MAX_EVENTS, CalendarError, Found, Span
from tools.connectors.service import parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    import httpx

    from heartbit_site.base.credentials import CalDavCredential

MAX_OBJECTS: Final = 2_000  # of one list
_DAV, _CAL = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
_NAMESPACES = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
_EVENT_ID = re.compile(r"[A-Za-z0-9%_~@+=,:()*-][A-Za-z0-9%._~@+=,:()*-]{0,299}")
_NETLOC = re.compile(r"https?://([A-Za-z0-9.:-]{1,100})(?:/|\Z)")
_OK, _MULTI, _NOT_FOUND, _GONE, _CHANGED = 200, 207, 404, 410, 412
_DONE = (200, 201, 204)
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class _Collection:
    """A calendar at the server; its URL ends with a slash."""

    url: str
    name: str


class CalDavCalendar:
    """Implementation of ``Calendar`` for an account at a CalDAV server."""

    def __init__(self, http: httpx.AsyncClient, account: CalDavCredential) -> None:
        self._http = http
        self._account = account

    async def events(self, span: Span, calendar: str) -> Found:
        """Return occurrences; see ``Calendar``."""
        found: list[dict[str, Any]] = []
        left_out, zones = 0, set[str]()
        for collection in _chosen(await self.collections(), calendar):
            part = await self._events(collection, span)
            found += [{**event, "calendar": collection.name} for event in part.events]
            left_out += part.left_out
            zones.update(part.unknown_zones)
        found.sort(key=lambda event: event["start"])
        left_out += len(found[MAX_EVENTS:])
        return Found(found[:MAX_EVENTS], left_out, tuple(sorted(zones)))

    async def create(self, key: str, fields: Mapping[str, Any], calendar: str) -> str:
        """Create an event; see ``Calendar``."""
        uid = str(uuid.uuid5(uuid.NAMESPACE_URL, f"heartbit:{key}"))
        event = f"{uid}.ics"
        url = (await self._only(calendar)).url + event
        built = await icalendar_process.run("build", uid=uid, fields=dict(fields))
        answer = await self._send("PUT", url, built["ics"], **{"if-none-match": "*"})
        if answer.status_code == _CHANGED:  # an earlier attempt of this call created it
            present = await self._send("GET", url)
            if present.status_code == _OK and uid in present.text:
                return event
        if answer.status_code not in _DONE:
            raise self._unwilling(answer)
        return event

    async def update(
        self, event: str, changes: Mapping[str, Any], etag: str, calendar: str
    ) -> None:
        """Change an event; see ``Calendar``. A recurring event is changed as a whole."""
        url = await self._url(event, calendar)
        present = await self._send("GET", url)
        if present.status_code in (_NOT_FOUND, _GONE):
            raise CalendarError("There is no such event: list the events again.")
        if present.status_code != _OK:
            raise self._unwilling(present)
        edited = await icalendar_process.run("edit", ics=present.text, changes=dict(changes))
        if not edited["changed"]:
            return
        current = present.headers.get("etag", "")
        if etag and current and etag != current:
            raise _changed_meanwhile()
        headers = {"if-match": current} if current else {}
        answer = await self._send("PUT", url, edited["ics"], **headers)
        if answer.status_code == _CHANGED:
            raise _changed_meanwhile()
        if answer.status_code not in _DONE:
            raise self._unwilling(answer)

    async def delete(self, event: str, etag: str, calendar: str) -> None:
        """Delete an event; see ``Calendar``. A recurring event is deleted as a whole."""
        url = await self._url(event, calendar)
        headers = {"if-match": etag} if etag else {}
        answer = await self._send("DELETE", url, **headers)
        if answer.status_code == _CHANGED:
            present = await self._send("GET", url)
            if present.status_code not in (_NOT_FOUND, _GONE):
                raise _changed_meanwhile()
        elif answer.status_code not in (*_DONE, _NOT_FOUND, _GONE):
            raise self._unwilling(answer)

    async def collections(self) -> list[_Collection]:
        """Return the calendars of the account, sorted by name.

        Raises:
            CalendarError: The server refuses the request, or the account has no calendar.
        """
        asked = (
            "<d:resourcetype/><d:displayname/><d:current-user-principal/><c:calendar-home-set/>"
            "<c:supported-calendar-component-set/>"
        )
        url = self._account.url
        for _ in range(3):  # the credential's URL, its principal, the principal's calendar home
            rows = await self._find(url, asked, depth=0)
            if rows and _is_calendar(rows[0]):
                if not _holds_events(rows[0]):
                    break
                return [_Collection(f"{url.rstrip('/')}/", _name(rows[0], url))]
            homes = [home for row in rows if (home := _href(row, f"{_CAL}calendar-home-set"))]
            if homes:
                home = self._below(url, homes[0])
                found = [
                    _Collection(f"{self._below(home, path).rstrip('/')}/", _name(row, path))
                    for row in await self._find(home, asked, depth=1)
                    if _is_calendar(row)
                    and _holds_events(row)
                    and (path := row.findtext(f"{_DAV}href") or "")
                ]
                if not found:
                    break
                return sorted(found, key=lambda each: (each.name, each.url))
            people = [who for row in rows if (who := _href(row, f"{_DAV}current-user-principal"))]
            if not people:
                break
            url = self._below(url, people[0])
        raise CalendarError(f"There is no calendar with events at {self._account.url}.")

    async def _events(self, collection: _Collection, span: Span) -> Found:
        start, end = _utc(span.start), _utc(span.end)
        query = (
            f"<c:calendar-query {_NAMESPACES}><d:prop><d:getetag/><c:calendar-data/></d:prop>"
            '<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT">'
            f'<c:time-range start="{start}" end="{end}"/>'
            "</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>"
        )
        answer = await self._send("REPORT", collection.url, query, depth="1")
        if answer.status_code != _MULTI:
            raise self._unwilling(answer)
        objects = []
        for row in parse_xml(answer.content).iter(f"{_DAV}response"):
            ics = row.findtext(f".//{_CAL}calendar-data") or ""
            event = urlsplit(row.findtext(f"{_DAV}href") or "").path.rpartition("/")[2]
            if ics and _EVENT_ID.fullmatch(event):
                etag = row.findtext(f".//{_DAV}getetag") or ""
                objects.append({"id": event, "etag": etag, "ics": ics})
        found = await icalendar_process.run(
            "expand",
            objects=objects[:MAX_OBJECTS],
            start=span.start.isoformat(),
            end=span.end.isoformat(),
            zone=span.zone_name,
            limit=MAX_EVENTS,
        )
        left_out = found["left_out"] + len(objects[MAX_OBJECTS:])
        return Found(found["events"], left_out, tuple(found["unknown_zones"]))

    async def _url(self, event: str, calendar: str) -> str:
        if not _EVENT_ID.fullmatch(event):
            raise CalendarError(f"{event[:60]!r} is not an event id: take one from list_events.")
        return self._below((await self._only(calendar)).url, event)

    async def _only(self, calendar: str) -> _Collection:
        found = _chosen(await self.collections(), calendar)
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise CalendarError(f"There are several calendars: choose one of {names}.")
        return found[0]

    async def _find(self, url: str, asked: str, *, depth: int) -> list[Element]:
        body = f"<d:propfind {_NAMESPACES}><d:prop>{asked}</d:prop></d:propfind>"
        answer = await self._send("PROPFIND", url, body, depth=str(depth))
        if answer.status_code != _MULTI:
            raise self._unwilling(answer)
        return list(parse_xml(answer.content).iter(f"{_DAV}response"))

    def _below(self, url: str, href: str) -> str:
        """Return the URL that a server names, if the credential may be sent there."""
        joined = urljoin(url, href)
        account = self._account
        if account.covers(joined) or _is_partner(account.url, joined):
            return joined
        host = _host(joined)
        if host and host != _host(account.url):
            raise CalendarError(
                f"The calendar server {_host(account.url)} names calendars at {host}, to which the "
                f"password is not sent: enter https://{host}/ as the URL if you trust it."
            )
        raise CalendarError(
            "The calendar server names an address that is not below the credential's URL "
            f"{account.url}: enter a URL above both."
        )

    async def _send(self, method: str, url: str, body: str = "", **headers: str) -> httpx.Response:
        account = self._account
        person = f"{account.username}:{account.password.get_secret_value()}".encode()
        kind = "text/calendar" if method == "PUT" else "application/xml"
        sent = {"authorization": f"Basic {base64.b64encode(person).decode()}", **headers}
        if body:
            sent["content-type"] = f"{kind}; charset=utf-8"
        return await self._http.request(
            method, url, content=body.encode(), headers=sent, follow_redirects=False
        )

    def _unwilling(self, answer: httpx.Response) -> CalendarError:
        why = "check name and password" if answer.status_code in _REFUSED else "check its URL"
        return CalendarError(
            f"The calendar server at {self._account.url} answered HTTP {answer.status_code}: {why}."
        )


def _is_partner(url: str, other: str) -> bool:
    """Return True if a credential for a whole server may be sent to another one of its domain.

    iCloud needs this: caldav.icloud.com names p42-caldav.icloud.com. Both URLs must use HTTPS on
    the default port and share a registered domain, the rule by which browsers share cookies.
    """
    from tld import get_fld  # noqa: PLC0415  reads a list of all public suffixes

    try:
        parts = urlsplit(url), urlsplit(other)
        usual = all(each.scheme == "https" and each.port in (None, 443) for each in parts)
    except ValueError:
        return False
    if not usual or parts[0].path.strip("/") or "@" in parts[1].netloc or not other.isascii():
        return False
    own, named = (get_fld(f"https://{each.hostname}/", fail_silently=True) for each in parts)
    return own is not None and own == named


def _host(url: str) -> str:
    """Return the host and port of a URL, for a sentence; empty if it has no plain one."""
    found = _NETLOC.match(url)
    return found[1] if found else ""


def _chosen(found: list[_Collection], calendar: str) -> list[_Collection]:
    named = [each for each in found if calendar in ("", each.name)]
    if not named:
        names = ", ".join(each.name for each in found)
        raise CalendarError(f"There is no calendar {calendar[:60]!r}; there are: {names}.")
    return named


def _is_calendar(row: Element) -> bool:
    return row.find(f".//{_DAV}resourcetype/{_CAL}calendar") is not None


def _holds_events(row: Element) -> bool:
    """Return True unless the calendar is only for other entries, such as tasks."""
    kinds = [kind.get("name", "").upper() for kind in row.iter(f"{_CAL}comp")]
    return not kinds or "VEVENT" in kinds


def _href(row: Element, name: str) -> str:
    return (row.findtext(f".//{name}/{_DAV}href") or "").strip()


def _name(row: Element, path: str) -> str:
    text = row.findtext(f".//{_DAV}displayname") or path.rstrip("/").rpartition("/")[2]
    return " ".join(text.split())[:100]


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _changed_meanwhile() -> CalendarError:
    return CalendarError("The event has changed: list the events again, then decide.")
