# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""What the site needs beyond the folder of its pages: README, CONTRIBUTING, CHANGELOG and files that pages link to.

The documents link each other, and files of the repository, by relative paths, as a code host follows them. Of these,
`README.md` becomes the first page, the other documents of the root become pages, and any other file that is linked is
copied. A link to what is not there is left as it is, and the strict build fails on it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
# Documents of the root, each with its place in the site.
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
# Where the copies of other files are.
COPIES = "repository/"

FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
HAS_SCHEME = re.compile(r"[a-z]+:")


def in_repository(page: str) -> str:
    """Give the path in the repository of a page of the site."""
    return next((source for source, place in ROOT_PAGES.items() if place == page), DOCS + page)


def in_site(path: str) -> str:
    """Give the path in the site of a file of the repository."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return ROOT_PAGES.get(path, COPIES + path)


def with_targets(markdown: str, change: Callable[[str], str]) -> str:
    """Give the text of a page with the target of each link changed, save in its blocks of code."""
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda found: found[1] + change(found[2]) + found[3], part) for part in parts[::2]]
    return "".join(parts)


def linked_file(page: str, target: str) -> tuple[str, str] | None:
    """Say which file of the repository a link leads to, if any: its path, and the anchor with its `#`."""
    path, sign, anchor = target.partition("#")
    if not path or HAS_SCHEME.match(path):
        return None
    found = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository(page)), path))
    return (found, sign + anchor) if (ROOT / found).is_file() else None


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the root, and what any page links to outside of the folder `docs`."""
    for source, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))

    for page in files.documentation_pages():

        def add(target: str, page: str = page.src_uri) -> str:
            found = linked_file(page, target)
            if found and files.get_file_from_path(in_site(found[0])) is None:
                files.append(File.generated(config, in_site(found[0]), abs_src_path=str(ROOT / found[0])))
            return target

        with_targets(page.content_string, add)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between files of the site."""
    del config, files
    here = page.file.src_uri

    def change(target: str) -> str:
        found = linked_file(here, target)
        if found is None:
            return target
        return posixpath.relpath(in_site(found[0]), posixpath.dirname(here) or ".") + found[1]

    return with_targets(markdown, change)
