"""An object store as Arrow opens it, with credentials from its usual environment, and what it says put into plain words.

Nothing is asked of a network before somebody gave an address of this store: this module is imported then.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from shoal.errors import InputError, Unavailable
from shoal.processes import Child, Teller
from shoal.records.stores.remote import Remote

_CONNECT, _ANSWER = 10, 60  # seconds
_ATTEMPTS = 3
_IDENTITY = 90  # seconds
_LET_IN: set[tuple[str, str]] = set()
"""Accounts and containers of Azure that the identity of the machine opens."""

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of the machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or the account of the machine",
    "az": "AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or the identity of the machine",
}

_FAULTS = (
    (r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound", "there is no such bucket; check its name"),
    (
        r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT|EXPIRED_TOKEN|ExpiredToken"
        r"|HTTP status 40[13]|PermissionDenied|Permission denied|UNAUTHENTICATED|[Cc]redential|AuthenticationFailed|Forbidden|Unauthorized",
        "the store does not let you in; give credentials with the right to it in its usual environment ({credentials})",
    ),
    (
        r"NETWORK_CONNECTION|REQUEST_TIMEOUT|[Cc]url|[Tt]imed? ?out|resolve host|Could not connect|[Cc]onnection",
        "the store cannot be reached, or hung up; check the endpoint and the network, and try again",
    ),
    (
        r"HTTP status 301|PERMANENT_REDIRECT|PermanentRedirect|AUTHORIZATION_HEADER_MALFORMED",
        "the bucket is in another region; name that in AWS_REGION",
    ),
    (r"SLOW_DOWN|HTTP status 503|THROTTLING", "the store is busy; try again later"),
    (r"ENTITY_TOO_LARGE|EntityTooLarge|InvalidRequest.*copy source", "the store takes no object of this size"),
)


def opened_store(remote: Remote) -> Any:
    """The file system of Arrow in which the object lies."""
    from pyarrow import fs

    with store_faults(remote):
        try:
            if remote.kind == "s3":
                return fs.S3FileSystem(
                    **_s3_settings(remote, fs),
                    connect_timeout=_CONNECT,
                    request_timeout=_ANSWER,
                    retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
                )
            if remote.kind == "gs":
                return fs.GcsFileSystem(**_gs_settings())
            return fs.AzureFileSystem(**_azure_settings(remote))
        except (ImportError, AttributeError):
            raise InputError(
                f"{remote.name}: the installed pyarrow cannot open {remote.kind}:// addresses; update it, or copy the file to this machine"
            ) from None


def _s3_settings(remote: Remote, fs: Any) -> dict[str, Any]:
    """Endpoint and region, which the tools of AWS take from the same variables; keys and profiles are found by the SDK itself."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise InputError("AWS_ENDPOINT_URL is not the address of a server; write https://HOST or http://HOST:PORT")
        place = parts.netloc + parts.path.rstrip("/")
        return {"endpoint_override": place, "scheme": parts.scheme, "region": region or "us-east-1"}
    if region is None:
        with contextlib.suppress(OSError):  # what is wrong is said by whoever asks for the object
            region = fs.resolve_s3_region(remote.place)
    return {} if region is None else {"region": region}


def _gs_settings() -> dict[str, Any]:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if not emulator:
        return {}
    parts = urlsplit(emulator if "://" in emulator else f"http://{emulator}")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme, "anonymous": True}


def _azure_settings(remote: Remote) -> dict[str, Any]:
    account = remote.account or os.environ.get("AZURE_STORAGE_ACCOUNT") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        raise InputError(
            f"{remote.name}: nothing says in which account the container is; name it in AZURE_STORAGE_ACCOUNT, "
            "or write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FILE"
        )
    given = {"account_name": account}
    if key := os.environ.get("AZURE_STORAGE_KEY") or os.environ.get("AZURE_STORAGE_ACCOUNT_KEY"):
        given["account_key"] = key
    elif token := os.environ.get("AZURE_STORAGE_SAS_TOKEN"):
        given["sas_token"] = token
    else:
        _check_identity(remote, account)
    return given


def _check_identity(remote: Remote, account: str) -> None:
    """Raises unless the identity of the machine opens the container: where there is none, Azure's library ends the whole process.

    So a process of its own asks first, once for each container.
    """
    if (account, remote.place) in _LET_IN:
        return
    child = Child("shoal.records.stores.store:asked_of_azure", background=True)
    try:
        child.ask({"account": account, "container": remote.place})
        answer = child.answer(_IDENTITY)
    finally:
        child.end()
    if answer is None or answer.error is not None:
        raise Unavailable(
            f"{remote.name}: the store does not let you in; give credentials with the right to it in its usual environment "
            f"({_CREDENTIALS['az']})"
        )
    _LET_IN.add((account, remote.place))


def asked_of_azure(request: Mapping[str, str], tell: Teller) -> None:
    """The work of that process. What the store says against it is for the process that reads."""
    from pyarrow import fs

    with contextlib.suppress(OSError, ValueError):
        fs.AzureFileSystem(account_name=request["account"]).get_file_info(request["container"])


@contextlib.contextmanager
def store_faults(remote: Remote, undone: str = "") -> Iterator[None]:
    """Turns what a store says into a sentence with a remedy. Its own words may hold keys, so that none of them is repeated."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise Unavailable(
            f"{remote.name}: there is no such object in {remote.place}{undone}; check its address"
        ) from None
    except Exception as error:
        from pyarrow import ArrowException

        if not isinstance(error, OSError | ArrowException | ValueError):
            raise
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise  # a file on this machine
        text = str(error)
        says = next((says for pattern, says in _FAULTS if re.search(pattern, text)), None)
        if says is None:
            said = re.search(r"AWS Error ([A-Z_]+)|HTTP status (\d{3})", text)
            code = "it says no more" if said is None else f"its code is {said[1] or said[2]}"
            says = f"the store refuses ({code}); check the address and your rights"
        raise Unavailable(f"{remote.name}: {says.format(credentials=_CREDENTIALS[remote.kind])}{undone}") from None
