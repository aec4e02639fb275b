"""Finds broken links, offline.

usage: links.py SITE [PAGE.md ...]

Every local link of the site, and every relative link of the given Markdown pages, must
lead to an existing file and anchor. Pages of rustdoc are not searched for links, because
rustdoc checks its own.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = {"", "top"}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])


def slug(heading):
    """The anchor of a heading on repository hosts."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def without_code(text):
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors_of(path, pages):
    if path not in pages:
        text = path.read_text(errors="replace")
        if path.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
            pages[path] = {"", *map(slug, headings)}
        else:
            pages[path] = Page(text).anchors
    return pages[path]


def wrong(source, link, pages):
    """Why a link is broken, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    if target.is_dir():
        target = target / "index.html" if (target / "index.html").exists() else target
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target.suffix in (".html", ".md"):
        if unquote(parts.fragment) not in anchors_of(target, pages):
            return f"{target.name} has no such anchor"
    return None


def main(site, markdown):
    pages, broken, seen = {}, [], 0
    site = Path(site).resolve()
    for path in sorted(site.rglob("*.html")):
        if path.is_relative_to(site / "rust"):
            continue
        page = Page(path.read_text())
        pages[path] = page.anchors
        for link in page.links:
            seen += 1
            reason = wrong(path, link, pages)
            if reason:
                broken.append(f"{path.relative_to(site)}: {link}: {reason}")
    for path in map(Path, markdown):
        text = without_code(path.read_text())
        for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text):
            seen += 1
            reason = wrong(path.resolve(), link, pages)
            if reason:
                broken.append(f"{path}: {link}: {reason}")
    print("\n".join([*broken, f"{seen} links, {len(broken)} broken"]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
