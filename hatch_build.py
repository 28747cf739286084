"""What an index of packages shows of Shoal: the README, with links that lead somewhere.

Its links are relative, so that they work in a clone, in any fork and on the site; on the page of an index they would lead nowhere. Whoever
builds for one says where the repository is (`SHOAL_REPOSITORY=https://HOST/OWNER/NAME`): links and addresses of the project then point
there. Without it there are no addresses, and the words of a link stay without the link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)\n*")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def with_absolute_links(text: str, address: str) -> str:
    """The text of a page at the root of the repository, for a reader elsewhere."""
    if not address:
        return LINK.sub(r"\1", IMAGE.sub("", text))
    text = IMAGE.sub(rf"![\1]({address}/raw/HEAD/\2)\n\n", text)
    return LINK.sub(rf"[\1]({address}/blob/HEAD/\2)", text)


def addresses(address: str) -> dict[str, str]:
    """The addresses of the project."""
    if not address:
        return {}
    return {
        "Source": address,
        "Documentation": f"{address}/blob/HEAD/docs/index.md",
        "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


class Metadata(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        address = os.environ.get("SHOAL_REPOSITORY", "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, address)}
        metadata["urls"] = addresses(address)
