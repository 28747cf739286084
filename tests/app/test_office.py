"""The app behind the proxy of an office, without a proxy: what it is told at its start, and whom the guard lets in."""

from __future__ import annotations

import asyncio
import os
import socket
import stat

import pytest

from shoal.app.server.guard import Guard
from shoal.app.server.office import Front, listening_at, token_in
from shoal.errors import InputError

HOST, OWN = "shoal.example", "https://shoal.example"


async def inner(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    seen = b" ".join(value for name, value in scope["headers"] if name.startswith(b"x-forwarded"))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode() + b" " + seen})


def ask(guard, path, *, kind="http", method="GET", host=HOST, body=b"", query=b"", **headers):
    """Status, headers and body of an answer; of a websocket, the type of the first message."""
    sent = []

    async def receive():
        return {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": path, "method": method, "query_string": query}
    asyncio.run(guard(scope | {"headers": [(b"host", host.encode()), *given]}, receive, send))
    if kind == "websocket":
        return sent[0]["type"]
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, sent[1]["body"]


def enter(guard, token=None, origin=OWN):
    return ask(guard, f"{guard.prefix}/enter", method="POST", body=(token or guard.token).encode(), origin=origin)


@pytest.fixture
def anna():
    return Guard(inner, 0, front=Front.of("https://Shoal.example:443/anna/"))


def test_the_token_is_exchanged_for_a_cookie_of_this_folder_over_tls(anna):
    status, headers, body = enter(anna)
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert (status, body) == (200, b"")
    assert attributes == ["Path=/anna", "HttpOnly", "SameSite=Strict", "Secure"]
    assert ask(anna, "/anna/p/x/data", cookie=cookie)[::2] == (200, b"/p/x/data /anna")
    assert anna.url() == f"https://shoal.example/anna/enter#{anna.token}"


def test_no_address_that_a_proxy_would_write_down_brings_a_token(anna):
    status, headers, _ = ask(anna, "/anna/", query=b"token=" + anna.token.encode())
    assert status == 403
    assert "set-cookie" not in headers


def test_wrong_tokens_and_pages_of_others_get_no_cookie(anna):
    for status, headers, _ in (
        enter(anna, "x" * 43),
        enter(anna, "x" * 10**5),
        enter(anna, origin="https://evil.example"),
    ):
        assert status == 403
        assert "set-cookie" not in headers
    assert ask(anna, "/anna/enter", method="POST", body=anna.token.encode())[0] == 403


def test_what_one_person_has_opens_nothing_of_another(anna):
    ben = Guard(inner, 0, front=Front.of("https://shoal.example/ben"))
    cookie = enter(anna)[1]["set-cookie"].split(";")[0]
    assert enter(ben, anna.token)[0] == 403
    assert ask(ben, "/ben/", cookie=cookie)[0] == 403
    assert ask(anna, "/ben/", cookie=cookie)[0] == 403
    assert ask(anna, "/annabel/", cookie=cookie)[0] == 403


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "evil.example", "shoal.example:8443", "shoal.example.evil.example"]
)
def test_only_the_public_host_is_answered(anna, host):
    cookie = enter(anna)[1]["set-cookie"].split(";")[0]
    assert ask(anna, "/anna/", host=host, cookie=cookie)[0] == 403


def test_headers_of_whoever_asks_say_nothing_about_where_the_app_is(anna):
    cookie = enter(anna)[1]["set-cookie"].split(";")[0]
    spoofed = {"x_forwarded_prefix": "/evil", "x_forwarded_host": "evil.example", "x_forwarded_proto": "http"}
    assert ask(anna, "/anna/", cookie=cookie, **spoofed)[2] == b"/ /anna"


def test_websockets_come_from_the_public_page_alone(anna):
    cookie = enter(anna)[1]["set-cookie"].split(";")[0]
    path = "/anna/_nicegui_ws/socket.io/"
    assert ask(anna, path, kind="websocket", cookie=cookie, origin=OWN) == "websocket.accept"
    for origin in ("http://shoal.example", "https://evil.example", "null"):
        assert ask(anna, path, kind="websocket", cookie=cookie, origin=origin) == "websocket.close"
    assert ask(anna, path, kind="websocket", cookie=cookie) == "websocket.close"
    assert ask(anna, path, kind="websocket", origin=OWN) == "websocket.close"


def test_pages_load_from_the_folder_of_the_app_alone(anna):
    policy = ask(anna, "/anna/")[1]["content-security-policy"]
    assert "'self'" not in policy
    assert "connect-src https://shoal.example/anna/ wss://shoal.example/anna/;" in policy
    alone = Guard(inner, 0, front=Front.of("https://anna.shoal.example"))
    assert "script-src 'self'" in ask(alone, "/", host="anna.shoal.example")[1]["content-security-policy"]


def test_browsers_are_asked_for_the_token_and_programs_are_told_no(anna):
    status, headers, body = ask(anna, "/anna/p/x/data", accept="text/html,*/*")
    assert (status, headers["cache-control"]) == (403, "no-store")
    assert b"<form>" in body
    assert anna.token.encode() not in body
    assert ask(anna, "/anna/static/shoal.css")[2].startswith(b"This page opens")
    assert ask(anna, "/anna")[:2][0] == 308


@pytest.mark.parametrize(
    "url",
    ["http://shoal.example/", "shoal.example", "https://", "https://u:p@shoal.example/", "https://shoal.example/a?b", "https://a b/",
     "https://shoal.example/\"x", "https://shoal.example/a/../b", "https://shoal.example//a", "https://shoal.example/a#b"],
)  # fmt: skip
def test_a_public_address_is_https_a_host_and_a_plain_path(url):
    with pytest.raises(InputError, match="write https://HOST/PATH"):
        Front.of(url)


def test_a_token_is_kept_for_its_owner_alone(tmp_path):
    path = tmp_path / "token"
    token = token_in(path)
    assert len(token) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token_in(path) == token
    path.chmod(0o640)
    with pytest.raises(InputError, match="others may read"):
        token_in(path)
    path.write_text("short")
    path.chmod(0o600)
    with pytest.raises(InputError, match="holds no token"):
        token_in(path)
    with pytest.raises(InputError, match="cannot be kept"):
        token_in(tmp_path / "nowhere" / "token")


def test_a_socket_is_for_its_owner_and_its_group_and_replaces_a_dead_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    first = listening_at("unix:socket")
    assert stat.S_IMODE(os.stat("socket").st_mode) == 0o660
    with pytest.raises(InputError, match="nobody can listen there"):
        listening_at("unix:socket")
    first.close()
    listening_at("unix:socket").close()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="nobody can listen there"):
        listening_at("unix:file")
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("address", ["8000", "localhost:8000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "unix"])
def test_an_address_to_listen_at_is_a_file_or_an_ip_and_a_port(address):
    with pytest.raises(InputError, match="neither unix:FILE"):
        listening_at(address)


def test_another_interface_is_an_explicit_choice():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with listening_at(f"127.0.0.1:{port}") as found:
        assert found.getsockname() == ("127.0.0.1", port)
