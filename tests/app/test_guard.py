from __future__ import annotations

import asyncio

import pytest

from shoal.app.server.guard import Guard

PORT = 8123
HOST = f"127.0.0.1:{PORT}"


async def inner(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    seen = b"x-forwarded-prefix" in dict(scope["headers"])
    headers = [(b"cache-control", b"public"), (b"access-control-allow-origin", b"*"), (b"content-type", b"text/html")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"forwarded" if seen else b"inside"})


@pytest.fixture
def guard():
    return Guard(inner, PORT)


def ask(guard, path="/", *, kind="http", method="GET", host=HOST, query="", **headers):
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    given += [(b"host", host.encode())] if host is not None else []
    scope = {"type": kind, "path": path, "method": method, "query_string": query.encode(), "headers": given}
    asyncio.run(guard(scope, receive, send))
    return sent


def status(sent):
    return sent[0]["status"]


def headers(sent):
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def cookie(guard, token=None):
    sent = ask(guard, query=f"token={token or guard.token}")
    return headers(sent)["set-cookie"].split(";")[0]


def test_the_start_url_gives_a_cookie_that_opens_the_rest(guard):
    sent = ask(guard, query=guard.url().partition("?")[2])
    assert status(sent) == 200
    given = headers(sent)["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(given.split("; "))
    assert guard.token not in given
    answer = ask(guard, "/p/x/data", cookie=given.split(";")[0])
    assert (status(answer), answer[1]["body"]) == (200, b"inside")


@pytest.mark.parametrize("path", ["/", "/p/x/data", "/_nicegui/3.0/static/nicegui.js", "/static/shoal.css", "/upload"])
@pytest.mark.parametrize("sent_cookie", [None, "shoal-8123=wrong", "shoal-8123=", "nonsense", "a=b; shoal-8124=x"])
def test_without_the_cookie_nothing_is_shown(guard, path, sent_cookie):
    sent = ask(guard, path, **({} if sent_cookie is None else {"cookie": sent_cookie}))
    assert status(sent) == 403
    assert sent[1]["body"].startswith(b"This page opens with the address")


@pytest.mark.parametrize("query", ["token=", "token=wrong", "", "token=%ff%fe", "other=1"])
def test_wrong_tokens_get_no_cookie(guard, query):
    sent = ask(guard, query=query)
    assert status(sent) == 403
    assert "set-cookie" not in headers(sent)


def test_tokens_open_the_first_page_alone(guard):
    assert status(ask(guard, "/p/x/data", query=f"token={guard.token}")) == 403
    assert status(ask(guard, "/", method="POST", query=f"token={guard.token}")) == 403


def test_the_address_for_the_browser_works_once(guard):
    token = guard.url_once().partition("=")[2]
    assert token != guard.token
    assert cookie(guard, token)
    assert status(ask(guard, query=f"token={token}")) == 403
    assert cookie(guard)


@pytest.mark.parametrize(
    "host",
    ["example.org", "127.0.0.1", "127.0.0.1:80", f"example.org:{PORT}", f"127.0.0.1.example.org:{PORT}", "", None],
)
def test_other_hosts_are_refused_whatever_they_bring(guard, host):
    sent = ask(guard, host=host, query=f"token={guard.token}", cookie=cookie(guard))
    assert status(sent) == 403
    assert b"127.0.0.1 and localhost" in sent[1]["body"]


def test_localhost_is_this_machine_too(guard):
    assert status(ask(guard, host=f"LocalHost:{PORT}", cookie=cookie(guard))) == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", f"https://{HOST}", f"http://localhost:{PORT}"])
def test_pages_of_others_are_refused(guard, origin):
    for kind in ("http", "websocket"):
        sent = ask(guard, "/upload", kind=kind, method="PUT", cookie=cookie(guard), origin=origin)
        assert sent[0].get("status", sent[0]["type"]) in (403, "websocket.close")


def test_websockets_need_cookie_and_origin(guard):
    held = cookie(guard)
    own = f"http://{HOST}"
    assert ask(guard, kind="websocket", cookie=held, origin=own)[0]["type"] == "websocket.accept"
    assert ask(guard, kind="websocket", cookie=held)[0]["type"] == "websocket.close"
    assert ask(guard, kind="websocket", origin=own)[0]["type"] == "websocket.close"


def test_every_answer_keeps_pages_to_themselves(guard):
    held = cookie(guard)
    for sent in (ask(guard, cookie=held), ask(guard), ask(guard, query=f"token={guard.token}")):
        found = headers(sent)
        assert found["cache-control"] == "no-store"
        assert found["referrer-policy"] == "no-referrer"
        assert found["x-frame-options"] == "DENY"
        assert found["x-content-type-options"] == "nosniff"
        assert not [name for name in found if name.startswith("access-control")]
        policy = dict(part.strip().partition(" ")[::2] for part in found["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        for sources in policy.values():
            for source in sources.split():
                assert source.startswith("'") or source in ("data:", "blob:") or source[5:] in guard.hosts


def test_only_files_of_packages_are_cached(guard):
    held = cookie(guard)
    kept = headers(ask(guard, "/_nicegui/3.18.0/static/nicegui.js", cookie=held))["cache-control"]
    assert kept == "private, max-age=86400"
    for path in ("/_nicegui/3.18.0/dynamic_resources/x", "/_nicegui/client/1/upload/2", "/_nicegui/auto/static/x"):
        assert headers(ask(guard, path, cookie=held))["cache-control"] == "no-store"


def test_headers_of_proxies_do_not_reach_the_pages(guard):
    sent = ask(guard, cookie=cookie(guard), x_forwarded_prefix='"><script>')
    assert sent[1]["body"] == b"inside"
