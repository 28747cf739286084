"""The public data sets: found by exact name, downloaded from a server on this machine, refused when they do not agree."""

from __future__ import annotations

import dataclasses
import gzip
import os
import socket
import threading
import urllib.error
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.records.samples.datasets import DATASETS, Dataset, compare_figures, get, listing
from shoal.records.source import read

TINY = b"1 2 3\n2 3\n1\n1 4\n"
"""Four transactions, four items, the longest of three."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No data folder and an empty cache, whatever the machine has; loopback goes past any proxy."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return cache / "shoal"


class Publisher(BaseHTTPRequestHandler):
    """Serves what `files` holds; a path ending in `short.dat` promises more than it sends."""

    files: dict[str, bytes]

    def do_GET(self) -> None:
        body = self.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        if not self.path.endswith("unsized.dat"):
            self.send_header("Content-Length", str(len(body) + 1_000 * self.path.endswith("short.dat")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def publisher() -> Iterator[str]:
    Publisher.files = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A data set of the registry's form whose published figures are those of TINY."""
    dataset = Dataset(
        name="tiny-set",
        title="Four rows",
        transactions=4,
        items=4,
        longest=3,
        average=2.0,
        publisher="http://127.0.0.1/",
        url=None,
        terms="none",
        files=("tiny_set.dat.gz", "tiny_set.dat"),
    )
    monkeypatch.setitem(DATASETS, dataset.name, dataset)
    return dataset


def published_at(url: str | None, monkeypatch: pytest.MonkeyPatch, dataset: Dataset) -> None:
    monkeypatch.setitem(DATASETS, dataset.name, dataclasses.replace(dataset, url=url))


def nobody_listens() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/tiny_set.dat"


def test_download_goes_to_the_cache_once(
    tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat"] = TINY
    path = get("tiny-set")
    assert path == home / "tiny_set.dat"
    assert path.read_bytes() == TINY
    Publisher.files.clear()
    assert get("tiny-set") == path
    assert os.listdir(home) == ["tiny_set.dat"]


def test_download_goes_to_the_folder_that_was_asked_for(
    tiny: Dataset, publisher: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat.gz", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat.gz"] = gzip.compress(TINY)
    assert get("tiny-set", tmp_path / "new" / "folder") == tmp_path / "new" / "folder" / "tiny_set.dat.gz"
    assert not home.exists()


def test_download_is_found_again_in_the_cache_under_the_name_of_every_url() -> None:
    for dataset in DATASETS.values():
        if dataset.url:
            assert dataset.url.rpartition("/")[2] in dataset.files


def test_download_tells_its_progress(tiny: Dataset, publisher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int | None]] = []
    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat"] = TINY
    get("tiny-set", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(TINY), len(TINY))


def test_download_of_unknown_size_is_taken_whole(
    tiny: Dataset, publisher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int | None]] = []
    published_at(publisher + "unsized.dat", monkeypatch, tiny)
    Publisher.files["/unsized.dat"] = TINY
    path = get("tiny-set", progress=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == TINY
    assert told[-1] == (len(TINY), None)


def test_download_that_does_not_agree_is_refused_with_both_figures(
    tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat"] = TINY + b"1 2 3 4\n"
    with pytest.raises(InputError, match="transactions 5 instead of 4, longest 4 instead of 3") as caught:
        get("tiny-set")
    assert publisher in str(caught.value)
    assert os.listdir(home) == []


@pytest.mark.parametrize(
    "body", [gzip.compress(TINY * 500)[:-30], b"\x1f\x8bno gzip at all", b""], ids=["cut", "garbage", "nothing"]
)
def test_damaged_download_is_refused_and_removed(
    body: bytes, tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat.gz", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat.gz"] = body
    with pytest.raises(InputError, match=r"tiny_set\.dat\.gz did not send"):
        get("tiny-set")
    assert os.listdir(home) == []


def test_web_page_instead_of_data_is_refused(
    tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat"] = b"<html><body>Please log in</body></html>\n"
    with pytest.raises(InputError, match="did not send"):
        get("tiny-set")
    assert os.listdir(home) == []


def test_download_that_breaks_off_is_refused_and_removed(
    tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "short.dat", monkeypatch, tiny)
    Publisher.files["/short.dat"] = TINY
    with pytest.raises(InputError, match=r"short\.dat \(only 16 of 1,016 bytes came\)"):
        get("tiny-set")
    assert os.listdir(home) == []


def test_interrupted_download_leaves_nothing_behind(
    tiny: Dataset, publisher: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    Publisher.files["/tiny_set.dat"] = TINY
    with pytest.raises(KeyboardInterrupt):
        get("tiny-set", progress=interrupt)
    assert os.listdir(home) == []


def test_offline_is_one_sentence_with_the_url_and_what_to_do(tiny: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    url = nobody_listens()
    published_at(url, monkeypatch, tiny)
    with pytest.raises(InputError) as caught:
        get("tiny-set")
    said = str(caught.value)
    assert said.startswith(f"tiny-set cannot be downloaded from {url} (")
    assert said.endswith("get it by hand and put it as tiny_set.dat into the folder that SHOAL_DATA names")


def test_a_name_that_nobody_resolves_is_called_offline(tiny: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def unresolved(*_: object, **__: object) -> None:
        raise urllib.error.URLError(socket.gaierror(-2, "Name or service not known"))

    monkeypatch.setattr("urllib.request.urlopen", unresolved)
    published_at("http://publisher.invalid/tiny.dat", monkeypatch, tiny)
    with pytest.raises(
        InputError, match=r"this machine seems to be offline: .*Name or service not known\); get it by hand"
    ):
        get("tiny-set")


def test_page_that_is_gone_is_named(tiny: Dataset, publisher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    published_at(publisher + "gone.dat", monkeypatch, tiny)
    with pytest.raises(InputError, match=r"gone\.dat \(HTTP error 404, Not Found\); get it by hand"):
        get("tiny-set")


def test_folder_that_cannot_be_written_is_no_traceback(
    tiny: Dataset, publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_at(publisher + "tiny_set.dat", monkeypatch, tiny)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="is not a folder that tiny-set can be downloaded into"):
        get("tiny-set", tmp_path / "file")


def test_data_set_without_a_url_names_the_page_of_its_publisher(tiny: Dataset) -> None:
    with pytest.raises(
        InputError, match=r"only to be had from the page of its publisher, http://127\.0\.0\.1/; get it by"
    ):
        get("tiny-set")


def test_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match=r"there is no data set .retial.; choose one of .*retail"):
        get("retial")


@pytest.mark.parametrize("place", ["tiny_set.dat", "tiny_set/tiny_set.dat"])
def test_data_folder_is_looked_in_before_the_cache(
    place: str, tiny: Dataset, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "data" / place, home / "tiny_set.dat"):
        path.parent.mkdir(parents=True)
        path.write_bytes(TINY)
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "data"))
    assert get("tiny-set") == tmp_path / "data" / place
    monkeypatch.delenv("SHOAL_DATA")
    assert get("tiny-set") == home / "tiny_set.dat"


def test_names_may_be_joined_in_any_way(tiny: Dataset, tmp_path: Path) -> None:
    (tmp_path / "tiny_set.dat").write_bytes(TINY)
    assert get("Tiny_Set", tmp_path) == get("tinyset", tmp_path) == get("tiny-set", tmp_path)


def test_local_file_that_does_not_agree_comes_with_a_warning(tiny: Dataset, tmp_path: Path) -> None:
    (tmp_path / "tiny_set.dat").write_bytes(TINY[6:])
    said: list[str] = []
    path = get("tiny-set", tmp_path, warn=said.append)
    assert said == [
        f"{path} is not the published tiny-set: transactions 3 instead of 4, longest 2 instead of 3; "
        "do not report results on it under that name, or remove the file to get the published one"
    ]
    with pytest.warns(UserWarning, match="is not the published tiny-set"):
        get("tiny-set", tmp_path)


def test_part_of_a_data_set_under_its_own_name_is_not_taken_for_it(tmp_path: Path) -> None:
    for part in ("accidents_head/accidents_first15224.dat.gz", "pumsb_subset/pumsb_2000.dat.gz"):
        (tmp_path / part).parent.mkdir()
        (tmp_path / part).write_bytes(gzip.compress(TINY))
    where = {listed.dataset.name: listed.where for listed in listing(tmp_path)}
    assert where["accidents"] == where["pumsb"] == "to download"


def test_checked_shows_measured_beside_published_figures(tiny: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "tiny_set.dat"
    path.write_bytes(TINY)
    assert compare_figures("tiny-set", path) == {
        "name": "tiny-set",
        "path": str(path),
        "agrees": True,
        "measured": {"transactions": 4, "items": 4, "longest": 3, "average": 2.0},
        "published": {"transactions": 4, "items": 4, "longest": 3, "average": 2.0},
    }


def test_figure_that_is_not_published_is_not_compared(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "tiny-set", dataclasses.replace(tiny, longest=None))
    (tmp_path / "tiny_set.dat").write_bytes(b"1 2 3 4\n1\n2\n3\n")
    assert compare_figures("tiny-set", tmp_path / "tiny_set.dat")["agrees"]


def test_listing_says_where_each_data_set_is(tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_bytes(TINY)
    where = {listed.dataset.name: listed.where for listed in listing(tmp_path)}
    assert list(where) == list(DATASETS)
    assert where["retail"] == str(tmp_path / "retail.dat")
    assert where["chess"] == "to download"
    assert where["bms-pos"] == "only from the publisher's page"


def test_registry_is_whole() -> None:
    for name, dataset in DATASETS.items():
        assert dataset.name == name == name.lower()
        assert dataset.publisher.startswith("http")
        assert dataset.terms
        assert dataset.average is None or 0 < dataset.average <= (dataset.longest or dataset.items)
    files = [file for dataset in DATASETS.values() for file in dataset.files]
    assert len(set(files)) == len(files)


HERE = os.environ.get("SHOAL_DATA", "")


@pytest.mark.skipif(not HERE, reason="SHOAL_DATA is not set")
@pytest.mark.parametrize("name", list(DATASETS))
def test_data_of_this_machine_agree_with_their_published_figures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", HERE)
    if DATASETS[name].path_in(Path(HERE)) is None:
        pytest.skip(f"{name} is not in SHOAL_DATA")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(read(get(name))) == DATASETS[name].transactions
