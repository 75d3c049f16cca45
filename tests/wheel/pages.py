"""The web pages as a browser asks for them: with a session, and with every file that they name."""

from __future__ import annotations

import re
from typing import Self

import httpx

FILE = re.compile(r"""(?:href|src)="(/static/[^"]+)\"""")
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
SECONDS = 60


class Pages:
    """A client that keeps its cookies."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(
            base_url=url, follow_redirects=True, timeout=SECONDS, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def log_in(self, name: str, password: str) -> None:
        """Fill in the form."""
        form = self._get("/login/").text
        token = TOKEN.search(form)
        if token is None:
            raise AssertionError("the login page has no form")
        data = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
        answer = self._client.post("/login/", data=data)
        if answer.status_code != 200 or "sessionid" not in self._client.cookies:
            raise AssertionError(f"the login was refused ({answer.status_code})")

    def visit(self, path: str) -> list[tuple[str, str]]:
        """Fetch a page and its files; return each file with its type."""
        page = self._get(path)
        files = sorted(set(FILE.findall(page.text)))
        if not files:
            raise AssertionError(f"{page.url} names no static file")
        return [(file, self._get(file).headers["Content-Type"].partition(";")[0]) for file in files]

    def read(self, path: str) -> str:
        """Fetch a text."""
        return self._get(path).text

    def _get(self, path: str) -> httpx.Response:
        answer = self._client.get(path)
        if answer.status_code != 200 or not answer.content:
            raise AssertionError(f"{path} answers {answer.status_code}")
        return answer
