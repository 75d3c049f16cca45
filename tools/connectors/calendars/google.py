"""Google Calendar over its API (version 3), with the guarded client."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from pydantic import Field

from heartbit_site.base.credentials import Key, Url, UrlCredential
from heartbit_site.base.json_values import MAX_VALUES, has_too_many
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.connectors.calendars.events import MAX_EVENTS, CalendarError, Found, Span

if TYPE_CHECKING:
    import httpx

_TOKEN = re.compile(r"[\x21-\x7e]{1,4000}")
_EVENT_ID = re.compile(r"[A-Za-z0-9_]{1,200}")
_OK, _NOT_FOUND, _CONFLICT, _GONE, _CHANGED = 200, 404, 409, 410, 412
_MAX_JSON_BYTES = 5_000_000
_TEXTS = {"title": "summary", "location": "location", "description": "description"}


class GoogleCalendarCredential(UrlCredential):
    """Access to one calendar of a Google account, by a refresh token."""

    kind: ClassVar[str] = "google_calendar"
    label: ClassVar[str] = "Google Calendar"

    url: Url = "https://www.googleapis.com/calendar/v3"
    token_url: Url = "https://oauth2.googleapis.com/token"  # noqa: S105  an address
    client_id: str = Field(min_length=1, max_length=500, description="Id of the OAuth client.")
    client_secret: Key
    refresh_token: Key
    calendar_id: str = Field("primary", max_length=300, description="Id of the calendar.")


class GoogleCalendar:
    """Implementation of ``Calendar`` for one Google calendar."""

    def __init__(self, http: httpx.AsyncClient, account: GoogleCalendarCredential) -> None:
        self._http = http
        self._account = account
        self._token = ""

    async def events(self, span: Span, calendar: str) -> Found:
        """Return occurrences, which Google expands; see ``Calendar``."""
        self._only(calendar)
        query = {
            "timeMin": span.start.isoformat(),
            "timeMax": span.end.isoformat(),
            "timeZone": span.zone_name,
            "singleEvents": "true",
            "orderBy": "startTime",
            "maxResults": str(MAX_EVENTS),
        }
        answer = await self._send("GET", "", params=query)
        found = _json(answer) if answer.status_code == _OK else {}
        if answer.status_code != _OK:
            raise _unwilling(answer)
        items = found.get("items")
        rows = [_row(item) for item in items] if isinstance(items, list) else []
        events = [{**row, "calendar": self._account.calendar_id} for row in rows if row is not None]
        more = bool(found.get("nextPageToken"))
        return Found(events[:MAX_EVENTS], len(rows) - len(events) + more)

    async def create(self, key: str, fields: Mapping[str, Any], calendar: str) -> str:
        """Create an event; see ``Calendar``."""
        self._only(calendar)
        event = hashlib.sha256(f"heartbit:{key}".encode()).hexdigest()[:32]
        repeat = str(fields.get("repeat") or "")
        more = {"recurrence": [f"RRULE:{repeat.removeprefix('RRULE:')}"]} if repeat else {}
        answer = await self._send("POST", "", json={"id": event, **_body(fields), **more})
        if answer.status_code not in (_OK, _CONFLICT):  # conflict: an earlier attempt created it
            raise _unwilling(answer)
        return event

    async def update(
        self, event: str, changes: Mapping[str, Any], etag: str, calendar: str
    ) -> None:
        """Change an event; see ``Calendar``. Changing an occurrence keeps its series."""
        self._only(calendar)
        place, body = _place(event), _body(changes)
        headers = {"if-match": etag} if etag else {}
        answer = await self._send("PATCH", place, json=body, headers=headers)
        if answer.status_code == _CHANGED:
            present = await self._send("GET", place)
            if present.status_code == _OK and _has(_json(present), body):
                return  # an earlier attempt changed it
            raise CalendarError("The event has changed: list the events again.")
        if answer.status_code in (_NOT_FOUND, _GONE):
            raise CalendarError("There is no such event: list the events again.")
        if answer.status_code != _OK:
            raise _unwilling(answer)

    async def delete(self, event: str, etag: str, calendar: str) -> None:
        """Delete an event; see ``Calendar``. Deleting an occurrence keeps its series."""
        self._only(calendar)
        headers = {"if-match": etag} if etag else {}
        answer = await self._send("DELETE", _place(event), headers=headers)
        if answer.status_code == _CHANGED:
            raise CalendarError("The event has changed: list the events again.")
        if not answer.is_success and answer.status_code not in (_NOT_FOUND, _GONE):
            raise _unwilling(answer)

    async def check(self) -> None:
        """List one event; raise as ``events`` does."""
        answer = await self._send("GET", "", params={"maxResults": "1"})
        if answer.status_code != _OK:
            raise _unwilling(answer)

    def _only(self, calendar: str) -> None:
        if calendar not in ("", self._account.calendar_id):
            raise CalendarError(
                f"The credential is for the calendar {self._account.calendar_id}: leave it out."
            )

    async def _send(self, method: str, place: str, **parts: Any) -> httpx.Response:
        account = self._account
        if not self._token:
            self._token = await self._access_token()
        headers = {**parts.pop("headers", {}), "authorization": f"Bearer {self._token}"}
        calendar = quote(account.calendar_id, safe="")
        url = f"{account.url.rstrip('/')}/calendars/{calendar}/events{place}"
        return await self._http.request(
            method, url, headers=headers, follow_redirects=False, **parts
        )

    async def _access_token(self) -> str:
        account = self._account
        form = {
            "grant_type": "refresh_token",
            "client_id": account.client_id,
            "client_secret": account.client_secret.get_secret_value(),
            "refresh_token": account.refresh_token.get_secret_value(),
        }
        answer = await self._http.post(account.token_url, data=form, follow_redirects=False)
        token = _json(answer).get("access_token") if answer.status_code == _OK else None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise CalendarError(
                f"Google returned no access token (HTTP {answer.status_code}): enter the "
                "credential again with a new refresh token."
            )
        return token


def _place(event: str) -> str:
    if not _EVENT_ID.fullmatch(event):
        raise CalendarError(f"{event[:60]!r} is not an event id: take one from list_events.")
    return f"/{event}"


def _body(fields: Mapping[str, Any]) -> dict[str, Any]:
    body = {name: fields[field] for field, name in _TEXTS.items() if field in fields}
    if "start" in fields:
        for name in ("start", "end"):
            text = str(fields[name])
            if "T" in text:
                body[name] = {"dateTime": text, "timeZone": fields["zone"]}
            else:  # Google's last day is excluded, the model's is not
                day = date.fromisoformat(text) + timedelta(days=name == "end")
                body[name] = {"date": day.isoformat()}
    return body


def _has(event: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Return True if an event has the texts of a change, and its times as Google writes them."""
    return all(
        _same_time(event.get(name), value) if name in ("start", "end") else event.get(name) == value
        for name, value in body.items()
    )


def _same_time(present: Any, wanted: Mapping[str, str]) -> bool:
    if not isinstance(present, dict):
        return False
    if "date" in wanted:
        return bool(present.get("date") == wanted["date"])
    return str(present.get("dateTime", "")).startswith(wanted["dateTime"])


def _row(item: Any) -> dict[str, Any] | None:
    """Return an event of Google's list; None if it cannot be read."""
    if not isinstance(item, dict) or not _EVENT_ID.fullmatch(str(item.get("id", ""))):
        return None
    times = [item.get(name) for name in ("start", "end")]
    shown = [
        str(time.get("dateTime") or time.get("date") or "")[:40] if isinstance(time, dict) else ""
        for time in times
    ]
    if not all(shown):
        return None
    organizer = item.get("organizer")
    return {
        "id": item["id"],
        "etag": str(item.get("etag", ""))[:100],
        "title": str(item.get("summary", ""))[:300],
        "start": shown[0],
        "end": shown[1],
        "all_day": "T" not in shown[0],
        "location": str(item.get("location", ""))[:300],
        "description": str(item.get("description", ""))[:2_000],
        "organizer": str(organizer.get("email", ""))[:300] if isinstance(organizer, dict) else "",
        "status": str(item.get("status", "")).upper()[:20],
        "recurring": "recurringEventId" in item,
        "busy": item.get("status") != "cancelled" and item.get("transparency") != "transparent",
    }


def _json(answer: httpx.Response) -> dict[str, Any]:
    if has_too_many(answer.content):
        raise CalendarError(f"Google returned more than {MAX_VALUES} values: narrow the request.")
    try:
        found = parse_untrusted_json(answer.content, max_bytes=_MAX_JSON_BYTES)
    except UntrustedJSONError:
        found = None
    if not isinstance(found, dict):
        raise CalendarError("Google's response is not the expected JSON.")
    return found


def _unwilling(answer: httpx.Response) -> CalendarError:
    return CalendarError(
        f"Google refused the request (HTTP {answer.status_code}): check the credential's calendar."
    )
