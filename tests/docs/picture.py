"""The report's picture for README: the page that `./run --profile` wrote, its upper part, in an SVG. No browser takes part.

python -m tests.docs.picture REPORT.html OUT.svg
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WIDTH_PX = 1000
ROWS = 2
"""Rows of the table of slowest calls."""
SECTIONS = ("By op", "Slowest calls")


def picture(page: str) -> str:
    """SVG text: head and the named sections of the page, as XHTML in the page's own style."""
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    head = re.search(r"<body>\n(.*?)(?=<section )", page, re.DOTALL)
    assert style is not None
    assert head is not None
    parts = [re.sub("<nav>.*?</nav>", "", head[1])]
    for title in SECTIONS:
        section = re.search(rf"<section [^>]*><h2>{title}</h2>.*?</section>", page, re.DOTALL)
        assert section is not None, f"the page has no section {title}"
        rows = re.findall(r"<tr>.*?</tr>", section[0], re.DOTALL)
        body = section[0]
        if title == SECTIONS[-1]:
            for row in rows[ROWS + 1 :]:
                body = body.replace(row, "", 1)
        parts.append(body)
    text = re.sub(r"<br>", "<br/>", "\n".join(parts))
    # Lines of text as the style sets them: 22 px each; a cell of the last table has three or four.
    height = 280 + 34 * text.count("<tr>") + 52 * ROWS + 150
    css = style[1].replace(":root", "svg")
    css = css.replace("body {", ".page {")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX}" height="{height}" viewBox="0 0 {WIDTH_PX} {height}">\n'
        f"<style>{css}</style>\n"
        f'<foreignObject width="100%" height="100%"><div xmlns="http://www.w3.org/1999/xhtml" class="page">\n{text}\n</div></foreignObject>\n</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(Path(sys.argv[1]).read_text()))
