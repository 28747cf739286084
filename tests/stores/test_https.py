"""Files on servers: https alone, no more than the input limit, and nothing of a token in what is said or certified."""

import datetime
import ipaddress
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import shoal
from shoal.errors import InputError, Unavailable

BASKETS = b"items\n" + b"milk|bread\nmilk\nbread|milk\n" * 10
TOKEN = "sig=t0ken-of-the-tests/with/strokes&password=t0ken"


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.asked.append((path, query, dict(self.headers)))
        status, headers, body = self.server.pages.get(path, (404, {}, b""))
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A key and a certificate for 127.0.0.1 that nobody signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    begun = datetime.datetime(2020, 1, 1)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(begun).not_valid_after(begun.replace(year=2120))
    made = made.add_extension(address, critical=False).add_extension(x509.BasicConstraints(True, 0), critical=True)
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def server(papers, monkeypatch):
    found = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    found.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers)
    found.socket = context.wrap_socket(found.socket, server_side=True, do_handshake_on_connect=False)
    found.pages, found.asked = {"/b.csv": (200, {}, BASKETS)}, []
    found.address = f"https://127.0.0.1:{found.server_address[1]}"
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(papers))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


def test_a_file_on_a_server_is_read_once_and_without_credentials(server, run):
    assert len(shoal.read(f"{server.address}/b.csv")) == 30
    server.asked.clear()
    code, out, _ = run("audit", f"{server.address}/b.csv?{TOKEN}", "--k", "3", "--m", "2", "--json")
    assert code == 0
    ((path, query, headers),) = server.asked
    assert (path, query) == ("/b.csv", TOKEN)
    assert not {name.lower() for name in headers} & {"authorization", "cookie", "referer"}
    assert "t0ken" not in out


def test_no_command_shows_what_follows_the_question_mark(server, run, tmp_path):
    address = f"{server.address}/b.csv?{TOKEN}"
    shown = []
    for command in (
        ("anonymize", address, "--k", "3", "--m", "2", "-o", "r.csv", "--report", "report.json", "--json"),
        ("anonymize", address, "--k", "3", "--m", "2", "-o", "r2.csv"),
        ("profile", address),
        ("profile", address, "--json"),
        ("audit", address, "--k", "3", "--m", "2"),
        ("init", address),
        ("audit", address.replace("b.csv", "nix.csv"), "--k", "3", "--m", "2", "--json"),
        ("audit", address.replace("https", "http"), "--k", "3", "--m", "2", "--json"),
        ("audit", address.replace("https://", "https://who:t0ken@"), "--k", "3", "--m", "2", "--json"),
        ("anonymize", address, "--k", "3", "--m", "2", "-o", address),
        ("verify", address, address),
    ):
        shown += run(*command)[1:]
    shown += [path.read_text() for path in tmp_path.iterdir()]
    assert len(shown) > 20
    assert not [text for text in shown if "t0ken" in text]
    assert json.loads((tmp_path / "r.csv.certificate.json").read_text())["output"]["file"] == "r.csv"


def test_a_plan_is_no_place_for_a_token(server, tmp_path):
    plan = shoal.Plan(version=1, input={"path": f"{server.address}/b.csv"}, guarantee={"model": "km", "k": 3, "m": 2})
    assert shoal.run(plan).audit.holds
    (tmp_path / "plan.yaml").write_text(
        f"version: 1\ninput: {{path: '{server.address}/b.csv?{TOKEN}'}}\nguarantee: {{model: km, k: 3, m: 2}}\n"
    )
    with pytest.raises(InputError, match="no place for it") as refusal:
        shoal.run(tmp_path / "plan.yaml")
    assert "t0ken" not in str(refusal.value)


def test_a_redirection_leads_to_https_alone(server):
    server.pages |= {
        "/there.csv": (302, {"Location": "/b.csv"}, b""),
        "/clear.csv": (302, {"Location": "http://127.0.0.1:9/b.csv"}, b""),
        "/file.csv": (302, {"Location": "file:///etc/passwd"}, b""),
        "/round.csv": (302, {"Location": "/round.csv"}, b""),
    }
    assert len(shoal.read(f"{server.address}/there.csv")) == 30
    for path in ("clear", "file"):
        with pytest.raises(InputError, match=r"not https|nowhere"):
            shoal.read(f"{server.address}/{path}.csv")
    server.asked.clear()
    with pytest.raises(Unavailable, match="sends on and on"):
        shoal.read(f"{server.address}/round.csv")
    assert len(server.asked) < 10


@pytest.mark.parametrize("status", [200, 302, 403, 404, 500])
def test_a_tree_behind_a_token_is_called_by_its_name(server, status):
    there = {"Location": "http://127.0.0.1:9/tree.csv"} if status == 302 else {}
    server.pages["/trees/%C3%BC%20tree.csv"] = (status, there, b"milk,drink,all\nbread,food,all\n")
    address = f"{server.address}/trees/%C3%BC%20tree.csv?{TOKEN}"
    if status == 200:
        tree = shoal.read_hierarchy(address)
        assert tree.source == "ü tree.csv"
        release = shoal.anonymize(f"{server.address}/b.csv", shoal.KmAnonymity(2, 2), hierarchy=tree)
        assert "t0ken" not in json.dumps([release.to_dict(), release.certificate()])
        return
    with pytest.raises(InputError, match=r"^ü tree\.csv: ") as refusal:
        shoal.anonymize(f"{server.address}/b.csv", shoal.KmAnonymity(2, 2), hierarchy=address)
    assert "t0ken" not in str(refusal.value)
    assert "t0ken" not in repr(refusal.value.__cause__)


@pytest.mark.parametrize("says_size", [True, False])
def test_no_more_is_fetched_than_the_input_limit(server, says_size):
    body = b"items\n" + b"milk\n" * 300_000
    headers = {} if says_size else {"Content-Length": ""}
    server.pages["/long.csv"] = (200, headers, body)
    with pytest.raises(InputError, match="input limit"):
        shoal.read(f"{server.address}/long.csv", input_limit="1MB")


@pytest.mark.parametrize(
    ("page", "word"),
    [
        ((403, {}, b""), "let you in"),
        ((404, {}, b""), "no such file"),
        ((500, {}, b"t0ken"), "refuses"),
        ((200, {"Content-Length": "9999"}, BASKETS), "lost"),
    ],
)
def test_what_a_server_fails_at_is_one_sentence(server, page, word):
    server.pages["/b.csv"] = page
    with pytest.raises(Unavailable, match=word) as refusal:
        shoal.read(f"{server.address}/b.csv?{TOKEN}")
    assert "t0ken" not in str(refusal.value)


def test_a_server_that_is_not_trusted_or_not_there_is_named(server, monkeypatch):
    with pytest.raises(Unavailable, match="cannot be reached"):
        shoal.read("https://127.0.0.1:9/b.csv")
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unavailable, match="SSL_CERT_FILE"):
        shoal.read(f"{server.address}/b.csv")
