import pytest

from object_server import object_server


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    monkeypatch.setattr("shoal.records.stores.store._ATTEMPTS", 1)


@pytest.fixture
def store(monkeypatch):
    """An object store with a bucket `lake`, and what the environment says about it."""
    with object_server("lake") as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-of-the-tests")
        yield server
