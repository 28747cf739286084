"""Guard: who may talk to the app, and what a page may ask for.

Everything passes through it, the files of NiceGUI and the websocket too. It wants a Host of this machine (a foreign name that resolves to
loopback is how web pages reach local servers), an Origin that is the app's own where a browser sends one, and a cookie, which whoever
opens the start URL with the right token gets. Everything else is answered with one sentence and 403. The pages' policy lets them load
from the app alone, so that nothing leaves the machine.

Behind a proxy, Host and Origin are those of the public address, and the token must not stand in addresses, which proxies write down: the
start URL has it after the `#`, which browsers keep to themselves, and its page sends it on as the body of a request.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from shoal.app.server.office import Front

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

NO_TOKEN = "This page opens with the address that shoal app has printed, token included; copy it from the terminal."
WRONG_HOST = "This server answers to 127.0.0.1 and localhost alone."
WRONG_FRONT = "This server answers to its public address alone; the proxy has to pass on Host and path as they came."
WRONG_TOKEN = "That is not the token of this app."
WRONG_ORIGIN = "Another page tried to reach this server; it answers to its own pages alone."

_DROPPED = (b"x-forwarded-prefix", b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded")
"""NiceGUI writes the first into its pages; where a proxy stands before this server, the guard says what it is."""
_OURS = (b"cache-control", b"referrer-policy", b"x-frame-options", b"content-security-policy", b"server")
_PLAIN = (b"content-type", b"text/plain; charset=utf-8")
_CORS = b"access-control-"
_FIXED = re.compile(rb"/_nicegui/[0-9][^/]*/(?!dynamic_resources/)")
_ENTER = "/enter"
_LARGEST = 4096
_ENTRY = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>Shoal</title>
<form><p><label>The token of your app <input type="password" autocomplete="off" autofocus></label> <button>Open Shoal</button></p>
<p role="alert"></p></form>
<script>
const base = %(base)s, form = document.forms[0];
async function enter(token) {
  history.replaceState(null, "", location.pathname);
  const answer = await fetch(base + "/enter", { method: "POST", body: token });
  if (answer.ok) location.replace(base + %(start)s);
  else form.querySelector("[role=alert]").textContent = await answer.text();
}
form.onsubmit = (event) => { event.preventDefault(); enter(form.querySelector("input").value.trim()); };
const given = location.hash.slice(1);
if (given) enter(given);
// Who comes from another site by a link brings no cookie at first; the page asks again by itself.
else fetch(base + "/static/favicon.svg").then((answer) => { if (answer.ok) location.replace(
  location.pathname === base + "/enter" ? base + "/" : location.pathname); });
</script></html>
"""


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: Asgi, port: int, token: str | None = None, front: Front | None = None) -> None:
        self.app = app
        self.port = port
        self.front = front
        self.prefix = "" if front is None else front.prefix
        self.token = token or secrets.token_urlsafe(32)
        self.hosts = tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost")) if front is None else (front.host,)
        self.scheme = "http" if front is None else "https"
        # Browsers keep cookies by host, not by port: two apps must not overwrite each other's.
        self.cookie = f"shoal-{port}" if front is None else f"__Secure-shoal{self.prefix.replace('/', '-')}"
        self._session = secrets.token_urlsafe(32)
        self._once: set[str] = set()
        self.start = "/"
        """Where the start URL leads."""
        # NiceGUI's pages hold scripts and styles within them and compile templates; 'self' for connections also means the websocket,
        # which older browsers want spelled out. Where others have their apps on the same host, only one's own folder is oneself.
        own = front.url if front is not None and self.prefix else "'self'"
        sockets = " ".join(
            f"{self.scheme.replace('http', 'ws')}://{host}{self.prefix and f'{self.prefix}/'}" for host in self.hosts
        )
        self._policy = (
            f"default-src 'none'; script-src {own} 'unsafe-inline' 'unsafe-eval'; style-src {own} 'unsafe-inline'; "
            f"img-src {own} data: blob:; font-src {own} data:; connect-src {own} {sockets}; form-action {own}; "
            f"base-uri 'none'; frame-ancestors 'none'; manifest-src {own}"
        )

    def url(self) -> str:
        """The start URL."""
        if self.front is not None:
            return f"{self.front.url}{_ENTER[1:]}#{self.token}"
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
        path = str(scope.get("path", "")).removeprefix(self.prefix)
        if self.front is not None and scope["type"] == "http" and path in ("", _ENTER):
            await self._enter(str(scope["method"]), path, headers, receive, send)
            return
        if self.front is None and scope["type"] == "http" and self._brings_token(scope):
            await self._let_in(send)
            return
        if not self._has_cookie(headers):
            if self.front is not None and scope["type"] == "http" and _wants_page(scope, headers):
                await self._ask_for_token(403, send)
            else:
                await _refuse(scope, receive, send, NO_TOKEN, self._headers(b""))
            return
        headers = [(name, value) for name, value in headers if name.lower() not in _DROPPED]
        if self.prefix:
            headers.append((b"x-forwarded-prefix", self.prefix.encode()))
        scope = {**scope, "path": path, "headers": headers}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(n, v) for n, v in message.get("headers", ()) if _passes(n.lower())]
                message = {**message, "headers": [*given, *self._headers(path.encode())]}
            await send(message)

        await self.app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> str | None:
        hosts = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"host"]
        is_within = f"{scope.get('path', '')}/".startswith(f"{self.prefix}/")
        if len(hosts) != 1 or hosts[0] not in self.hosts or not is_within:
            return WRONG_HOST if self.front is None else WRONG_FRONT
        origins = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"origin"]
        if scope["type"] == "websocket" and not origins:
            return WRONG_ORIGIN
        # The page must be of the very host that it talks to: 127.0.0.1 and localhost do not share cookies.
        if any(origin != f"{self.scheme}://{hosts[0]}" for origin in origins):
            return WRONG_ORIGIN
        return None

    async def _enter(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], receive: Receive, send: Send
    ) -> None:
        """The page that takes the token, and the cookie for whoever sends the right one."""
        if not path:
            location = [(b"location", f"{self.prefix}/".encode())]
            await _answer(send, 308, [*location, *self._headers(b"")], b"")
        elif method != "POST":
            await self._ask_for_token(200, send)
        elif hmac.compare_digest(await _body(receive), self.token.encode()) and _has_origin(headers):
            await _answer(send, 200, [(b"set-cookie", self._cookie().encode()), *self._headers(b"")], b"")
        else:
            await _answer(send, 403, [_PLAIN, *self._headers(b"")], f"{WRONG_TOKEN}\n".encode())

    async def _ask_for_token(self, status: int, send: Send) -> None:
        page = _ENTRY % {"base": json.dumps(self.prefix), "start": json.dumps(self.start)}
        await _answer(
            send, status, [(b"content-type", b"text/html; charset=utf-8"), *self._headers(b"")], page.encode()
        )

    def _cookie(self) -> str:
        where = f"Path={self.prefix or '/'}; HttpOnly; SameSite=Strict"
        return f"{self.cookie}={self._session}; {where}{'' if self.front is None else '; Secure'}"

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
        page = (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0;url={self.start}">'
            f'<title>Shoal</title><p><a href="{self.start}">Open Shoal</a></p></html>'
        )
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"set-cookie", self._cookie().encode())]
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


def _wants_page(scope: Scope, headers: list[tuple[bytes, bytes]]) -> bool:
    accepted = b",".join(value for name, value in headers if name.lower() == b"accept")
    return scope.get("method") == "GET" and b"text/html" in accepted


def _has_origin(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"origin" for name, _ in headers)


async def _body(receive: Receive) -> bytes:
    """What a small request brings; of a large one, its beginning."""
    body, more = b"", True
    while more and len(body) <= _LARGEST:
        message = await receive()
        body, more = body + bytes(message.get("body", b"")), bool(message.get("more_body"))
    return body[: _LARGEST + 1]


def _passes(name: bytes) -> bool:
    return name not in _OURS and not name.startswith(_CORS)


async def _refuse(
    scope: Scope, receive: Receive, send: Send, sentence: str, headers: list[tuple[bytes, bytes]]
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": sentence})  # before it is accepted: 403
        return
    await _answer(send, 403, [_PLAIN, *headers], f"{sentence}\n".encode())


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
