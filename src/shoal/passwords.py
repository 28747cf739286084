"""Passwords in texts that somebody typed: found wherever they may stand, and taken out before anything is shown.

An address belongs to an option that reads or writes data, but people type it anywhere, in the spelling of any tool: `jdbc:`, SQLAlchemy,
ODBC (`;Pwd=...`), libpq (`password='...'`), percent-encoded, with a blank in front. So nothing here parses. What looks like
`user:password@` or like `password=...` loses its password, and where the end of one is in doubt, too much goes rather than too little.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

_DATABASE = (
    r"(?:jdbc|odbc|ado|postgres|cockroach|sqlite|mysql|mariadb|mssql|sqlserver|oracle|redshift|snowflake|clickhouse|duckdb|trino|presto|hive"
    r"|impala|db2|teradata|vertica|mongo|redis|amqp|databricks|ftp)[\w+.-]*"
)
_WHO = re.compile(
    # A password may hold strokes, colons, blanks and @ by mistake: all up to the last @, or to another address, is about who, not where.
    rf"(?P<head>(?<![a-z0-9+._-])[a-z][a-z0-9+._-]*:/+|\b{_DATABASE}:/*)(?P<user>[^\s:/@]*)\S*?:(?:(?!\s[\"'(]?[a-z][a-z0-9+._-]*:/).)*@",
    re.IGNORECASE | re.DOTALL,
)
_BARE = re.compile(r"(?<![\w.+-])(?P<user>[\w.+-]*):(?!//)(?!\*\*\*@)[^\s]+@(?=[\w\[])")
_NAMED = re.compile(
    r"""(?P<name>(?:ssl)?pass(?:word|wd|phrase)?|pwd|secret)(?P<quote>["'\\]*)\s*(?:=|(?<=["']):)\s*(?!\*\*\*)"""
    r"""(?:\\*'(?:[^'\\]|\\.|'')*(?:'|$)|\\*"(?:[^"\\]|\\.|"")*(?:"|$)|\{[^}]*(?:\}|$)|[^;&]+?(?=;|&|\s+\w+\s*=|$))""",
    re.IGNORECASE | re.DOTALL,
)
_NAMES = re.compile(r"pass|pwd|secret", re.IGNORECASE)
"""One of them is in all that the pattern before can find, and most texts have none."""
_FOREIGN = re.compile(rf"[\s\"']*{_DATABASE}:", re.IGNORECASE)
_SCHEME = re.compile(r"[\s\"']*[a-z][a-z0-9+._-]*(?:://|%3a%2f%2f)", re.IGNORECASE)
_TIMES = 4  # that a text may be percent-encoded


def without_passwords(text: str) -> str:
    """The text with `***` for every password that stands in it, plain or percent-encoded."""
    shown = text = _hidden(text)
    for _ in range(_TIMES):
        text = unquote(text)
        if (hidden := _hidden(text)) != text:
            shown = text = hidden
    return shown


def is_foreign_address(text: str) -> bool:
    """Whether a text is the address of some database, in the spelling of whatever tool, or any address with a password."""
    return _FOREIGN.match(text) is not None or (_SCHEME.match(text) is not None and holds_password(text))


def is_database(text: str) -> bool:
    """Whether an address begins as those of databases do."""
    return _FOREIGN.match(text) is not None and not text.lower().startswith("ftp")


def holds_password(text: str) -> bool:
    """Whether a text is an address, or a list of settings, with a password in it: more than a name with a colon and an @."""
    for _ in range(_TIMES):
        if _WHO.search(text) or _NAMED.search(text):
            return True
        text = unquote(text)
    return False


def _hidden(text: str) -> str:
    if "@" in text:
        text = _WHO.sub(rf"\g<head>\g<user>:{HIDDEN}@", text)
        text = _BARE.sub(rf"\g<user>:{HIDDEN}@", text)
    return _NAMED.sub(rf"\g<name>\g<quote>={HIDDEN}", text) if _NAMES.search(text) else text
