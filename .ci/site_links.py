"""A hook of mkdocs: links into the source lead out of the site, so that there they are plain text."""

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)[^)\s]*\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def without_link(match: re.Match[str]) -> str:
        target = (folder / match["target"]).resolve()
        return match[0] if target.is_relative_to(docs) else match["text"]

    return LINK.sub(without_link, markdown)
