"""Two people of an office behind a real nginx, with the configuration of docs/guide/office.md: TLS, folders, a port and a Unix socket."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from http.client import HTTPSConnection
from pathlib import Path

import pytest
import typer

from serving import until
from shoal.cli import command_line

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "office.md").read_text(encoding="utf-8")
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
PEOPLE = ("anna", "ben")

pytestmark = pytest.mark.skipif(
    NGINX is None, reason="the test behind a reverse proxy needs nginx: install nginx-light"
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def make_certificate(folder):
    """A certificate for this machine that signs itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


@contextlib.contextmanager
def nginx(folder, ports):
    """nginx with the guide's server: its name, ports and paths are those of the test, and its log is as nginx writes it."""
    make_certificate(folder)
    (block,) = blocks("nginx")
    for said, here in (
        ("listen 443", f"listen 127.0.0.1:{ports['nginx']}"),
        ("shoal.example", "127.0.0.1"),
        ("/etc/ssl/shoal", str(folder)),
        ("127.0.0.1:8101", f"127.0.0.1:{ports['anna']}"),
        ("/run/shoal/ben/socket", str(folder / "socket")),
    ):
        assert said in block
        block = block.replace(said, here)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    kept = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root; " if os.getuid() == 0 else ""  # of whose group the socket is
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log info;\nevents {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{kept}{block}}}\n"
    )
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.PIPE)
    try:
        until(lambda: (folder / "pid").exists() or process.poll() is not None, 20)
        assert process.poll() is None, process.stderr.read().decode()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextlib.contextmanager
def app_of(name, folder, public, *where):
    """The app of one person; gives its token."""
    home = folder / name
    home.mkdir(mode=0o700)
    command = ["app", "--behind", f"{public}/{name}", *where, "--workspace", "work", "--token-file", "shoal.token"]
    environment = os.environ | {"HOME": str(home), "SHOAL_KEY": str(home / "key")}
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal.cli", *command], cwd=home, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        told = process.stderr.readline() + process.stderr.readline()
        token = (home / "shoal.token").read_text().strip()
        assert f"open {public}/{name}/ and give it the token in shoal.token" in told
        assert token not in told
        yield token
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    pytest.importorskip("nicegui", reason="the app needs NiceGUI: pip install 'shoal[app]'")
    folder = tmp_path_factory.mktemp("o")
    ports = {"nginx": free_port(), "anna": free_port()}
    public = f"https://127.0.0.1:{ports['nginx']}"
    with (
        nginx(folder, ports),
        app_of("anna", folder, public, "--port", str(ports["anna"])) as anna,
        app_of("ben", folder, public, "--listen", f"unix:{folder / 'socket'}") as ben,
    ):
        yield folder, public, {"anna": anna, "ben": ben}
    assert not (folder / "socket").exists()


def ask(office, path, method="GET", body=None, **headers):
    folder, public, _ = office
    secure = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
    connection = HTTPSConnection(public.partition("//")[2], context=secure, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def enter(office, name, token):
    return ask(office, f"/{name}/enter", "POST", token, Origin=office[1])


def test_host_origin_and_token_decide_behind_the_proxy_too(office):
    tokens = office[2]
    cookies = {}
    for name in PEOPLE:
        status, headers, _ = enter(office, name, tokens[name])
        assert status == 200
        assert f"Path=/{name}; HttpOnly; SameSite=Strict; Secure" in headers["set-cookie"]
        cookies[name] = headers["set-cookie"].partition(";")[0]
    assert enter(office, "ben", tokens["anna"])[0] == 403
    assert ask(office, "/anna/enter", "POST", tokens["anna"], Origin="https://evil.example")[0] == 403
    own = ask(office, "/anna/", Cookie=cookies["anna"], X_Forwarded_Prefix="/evil", X_Forwarded_Host="evil.example")
    assert own[0] == 200
    assert '"/anna/static/shoal.css"' in own[2]
    assert "evil" not in own[2]
    assert ask(office, "/anna/", Cookie=cookies["anna"], Host="evil.example")[0] == 403
    assert ask(office, "/anna/upload?name=x.csv", "PUT", "a\n1\n", Cookie=cookies["anna"], Origin="null")[0] == 403
    assert ask(office, "/ben/", Cookie="; ".join([cookies["anna"], cookies["anna"].replace("anna", "ben")]))[0] == 403
    assert ask(office, "/anna/../ben/", Cookie=cookies["anna"])[0] == 403
    assert ask(office, f"/anna/?token={'x' * 43}")[0] == 403


def test_two_people_work_in_a_browser_and_see_nothing_of_each_other(office, browser):
    folder, public, tokens = office
    asked, faults, pages = [], [], {}
    for name in PEOPLE:
        context = browser.new_context(ignore_https_errors=True)
        context.on("request", lambda request: asked.append(request.url))
        page = pages[name] = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("websocket", lambda socket: asked.append(socket.url.replace("wss:", "https:")))
    pages["anna"].goto(f"{public}/anna/enter#{tokens['anna']}")
    pages["ben"].goto(f"{public}/ben/")
    pages["ben"].get_by_label("The token of your app").fill(tokens["ben"])
    pages["ben"].get_by_role("button", name="Open Shoal").click()
    for page in pages.values():
        page.wait_for_selector("text=Your projects")
    data = {"name": "visits.csv", "mimeType": "text/csv", "buffer": b"age,sex\n34,F\n35,F\n34,M\n35,M\n"}
    pages["anna"].set_input_files("input[type=file]", data)  # goes up by PUT, and on by the websocket
    pages["anna"].wait_for_url(re.compile(r"/anna/p/[0-9a-f]+/data$"))
    assert (
        pages["anna"].locator("footer").inner_text().startswith(f"What you bring goes to {public[8:]} and no further")
    )
    pages["anna"].get_by_role("link", name="Shoal: all projects").click()
    pages["anna"].get_by_role("link", name="visits").first.wait_for()
    pages["ben"].reload()
    pages["ben"].wait_for_selector("text=Your projects")
    assert "visits" not in pages["ben"].content()
    pages["ben"].get_by_role("button", name="Try it with a made-up grocery store").click()
    pages["ben"].wait_for_url(re.compile(r"/ben/p/[0-9a-f]+/data$"))
    for page in pages.values():
        page.context.close()
    outside = [url for url in asked if not re.match(rf"{re.escape(public)}/(anna|ben)/|data:|blob:", url)]
    assert (outside, faults) == ([], [])
    assert (folder / "anna" / "work").stat().st_mode & 0o077 == 0
    written = (folder / "access.log").read_text() + (folder / "error.log").read_text()
    assert "/anna/enter" in written
    assert not [name for name in PEOPLE if tokens[name] in written]


def test_the_guides_commands_are_the_ones_of_the_test():
    lines = [line for line in blocks("sh")[0].splitlines() if line.strip()]
    assert all("--behind https://shoal.example/" in line and "--token-file" in line for line in lines)
    known = {name for option in typer.main.get_command(command_line()).commands["app"].params for name in option.opts}
    assert {word for line in lines for word in line.split() if word.startswith("--")} <= known
