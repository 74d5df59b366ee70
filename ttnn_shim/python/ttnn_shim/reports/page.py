"""What every page of ours is made of: one file without network, tables that sort, times, boxes. Each function says who escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files


def page(title: str, body: Sequence[str]) -> str:
    """A whole page. title: plain text; body: HTML."""
    here = files("ttnn_shim.reports")
    css, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{css}</style></head><body>\n" + "\n".join(body) + f"\n<script>{script}</script></body></html>\n"
    )


def section(title: str, body: str, note: str) -> str:
    """title, note: plain text, or a note that is HTML by beginning with `<`."""
    text = note if note.startswith("<") else f'<p class="soft">{escape(note)}</p>' if note else ""
    return f'<section id="{_anchor(title)}"><h2>{escape(title)}</h2>{text}{body}</section>'


def contents(titles: Sequence[str]) -> str:
    """Links to the sections of these titles."""
    return "<nav>" + "".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in titles) + "</nav>"


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def breakable(text: str) -> str:
    """An identifier or a line of code as HTML that a narrow column breaks between words: "Matmul|Device|Operation", "ttnn.|transformer.|split_|heads"."""
    return (
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[._(/])(?=\w)", "\0", text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("\0", "<wbr/>")
    )


def tiles(boxes: Sequence[tuple[str, str]]) -> str:
    """Boxes of a value and what it is, plain text."""
    inside = "".join(f'<div class="tile"><b>{escape(value)}</b><span class="soft">{escape(text)}</span></div>' for value, text in boxes)
    return f'<div class="tiles">{inside}</div>'


def sortable(titles: Sequence[str], rows: Sequence[Sequence[str]], foot: str = "", stacked: bool = True) -> str:
    """A table whose headings sort it. titles: plain text, "" for a column that does not sort; rows: cells as HTML (`data-v` is a cell's number).

    stacked: on a narrow screen the first cell of a row takes a line of its own, above the others.
    """
    sort = ' class="sort" tabindex="0"'  # quoted: the page's parts are XML in docs/pictures
    heads = "".join(f"<th{sort if title else ''}{_right(rows, index)}>{escape(title)}</th>" for index, title in enumerate(titles))
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    end = f"<tfoot>{foot}</tfoot>" if foot else ""
    kind = f'"sortable stacked" style="--columns:{len(titles) - 1}"' if stacked else '"sortable"'
    return f'<div class="scroll"><table class={kind}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody>{end}</table></div>'


def _right(rows: Sequence[Sequence[str]], index: int) -> str:
    return ' data-n=""' if rows and 'class="n"' in rows[0][index] else ""


def duration(ns: float) -> str:
    if ns >= 1e6:
        return f"{ns / 1e6:,.2f} ms"
    return f"{ns / 1e3:,.1f} us"
