"""Guard: who may talk to the app, and what a page may ask for.

Everything passes through it, the files of NiceGUI and the websocket too. It wants a Host of this machine (a foreign name that resolves to
loopback is how web pages reach local servers), an Origin that is the app's own where a browser sends one, and a cookie, which whoever
opens the start URL with the right token gets. Everything else is answered with one sentence and 403. The pages' policy lets them load
from the app alone, so that nothing leaves the machine.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

NO_TOKEN = "This page opens with the address that shoal app has printed, token included; copy it from the terminal."
WRONG_HOST = "This server answers to 127.0.0.1 and localhost alone."
WRONG_ORIGIN = "Another page tried to reach this server; it answers to its own pages alone."

_DROPPED = (b"x-forwarded-prefix", b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded")
"""NiceGUI writes the first into its pages; no proxy stands before this server."""
_OURS = (b"cache-control", b"referrer-policy", b"x-frame-options", b"content-security-policy", b"server")
_CORS = b"access-control-"
_FIXED = re.compile(rb"/_nicegui/[0-9][^/]*/(?!dynamic_resources/)")


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: Asgi, port: int, token: str | None = None) -> None:
        self.app = app
        self.port = port
        self.token = token or secrets.token_urlsafe(32)
        self.hosts = tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
        self.origins = tuple(f"http://{host}" for host in self.hosts)
        # Browsers keep cookies by host, not by port: two apps must not overwrite each other's.
        self.cookie = f"shoal-{port}"
        self._session = secrets.token_urlsafe(32)
        self._once: set[str] = set()
        self.start = "/"
        """Where the start URL leads."""
        # NiceGUI's pages hold scripts and styles within them and compile templates; 'self' for connections also means the websocket,
        # which older browsers want spelled out.
        sockets = " ".join(f"ws://{host}" for host in self.hosts)
        self._policy = (
            "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
        )

    def url(self) -> str:
        """The start URL."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def url_once(self) -> str:
        """A start URL that works once, for a browser that is started with it: others can read the arguments of processes."""
        token = secrets.token_urlsafe(32)
        self._once.add(token)
        return f"http://127.0.0.1:{self.port}/?token={token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = list(scope.get("headers") or ())
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, refusal, self._headers(b""))
            return
        if scope["type"] == "http" and self._brings_token(scope):
            await self._let_in(send)
            return
        if not self._has_cookie(headers):
            await _refuse(scope, receive, send, NO_TOKEN, self._headers(b""))
            return
        scope = {**scope, "headers": [(name, value) for name, value in headers if name.lower() not in _DROPPED]}
        path = str(scope.get("path", ""))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(n, v) for n, v in message.get("headers", ()) if _passes(n.lower())]
                message = {**message, "headers": [*given, *self._headers(path.encode())]}
            await send(message)

        await self.app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> str | None:
        hosts = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return WRONG_HOST
        origins = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"origin"]
        if any(origin not in self.origins for origin in origins) or (scope["type"] == "websocket" and not origins):
            return WRONG_ORIGIN
        # The page must be of the very host that it talks to: 127.0.0.1 and localhost do not share cookies.
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return WRONG_ORIGIN
        return None

    def _brings_token(self, scope: Scope) -> bool:
        if scope.get("path") != "/" or scope.get("method") != "GET":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0].encode()
        if hmac.compare_digest(given, self.token.encode()):
            return True
        used = next((token for token in self._once if hmac.compare_digest(given, token.encode())), None)
        self._once.discard(used or "")
        return used is not None

    def _has_cookie(self, headers: list[tuple[bytes, bytes]]) -> bool:
        for name, value in headers:
            if name.lower() != b"cookie":
                continue
            try:
                found = SimpleCookie(value.decode("latin-1")).get(self.cookie)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(found.value.encode(), self._session.encode()):
                return True
        return False

    async def _let_in(self, send: Send) -> None:
        """Sets the cookie on a page that goes on by itself: a redirect would count as coming from wherever the link was clicked, and a
        strict cookie would not be sent."""
        cookie = f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        page = (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0;url={self.start}">'
            f'<title>Shoal</title><p><a href="{self.start}">Open Shoal</a></p></html>'
        )
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"set-cookie", cookie.encode())]
        await _answer(send, 200, [*headers, *self._headers(b"")], page.encode())

    def _headers(self, path: bytes) -> list[tuple[bytes, bytes]]:
        # What a package brings along holds no data, and its address has the package's version in it.
        fixed = _FIXED.match(path) is not None
        return [
            (b"cache-control", b"private, max-age=86400" if fixed else b"no-store"),
            (b"content-security-policy", self._policy.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-frame-options", b"DENY"),
            (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
        ]


def _passes(name: bytes) -> bool:
    return name not in _OURS and not name.startswith(_CORS)


async def _refuse(
    scope: Scope, receive: Receive, send: Send, sentence: str, headers: list[tuple[bytes, bytes]]
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": sentence})  # before it is accepted: 403
        return
    await _answer(send, 403, [(b"content-type", b"text/plain; charset=utf-8"), *headers], f"{sentence}\n".encode())


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
