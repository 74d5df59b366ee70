"""Finds and renders the data files of the project (jinja2 templates), in a checkout as in an installed wheel."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import jinja2

from alchemist.errors import InternalError


@functools.cache
def templates_dir() -> Path:
    """`alchemist/templates` of a wheel, or `templates/` beside the package of a checkout.

    Raises:
        InternalError: the installation has no templates.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "templates", package.parent / "templates"):
        if (candidate / "project").is_dir():
            return candidate
    raise InternalError("the installation has no templates", hint="install alchemist again")


def template_text(name: str) -> str:
    """The text of a template that is copied as it is."""
    return (templates_dir() / name).read_text(encoding="utf-8")


@functools.cache
def environment() -> jinja2.Environment:
    """The one jinja2 environment: undefined names are errors, nothing is HTML-escaped."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters["markdown_text"] = markdown_text
    return env


def render(name: str, **values: Any) -> str:
    """Renders template `name`; every value it names must be given."""
    return environment().get_template(name).render(**values)


def markdown_text(value: Any) -> str:
    """One line of text that cannot open Markdown or HTML structure."""
    line = re.sub(r"[\x00-\x1f\x7f]+", " ", str(value))
    return re.sub(r"([\\`*<>\[\]|])", r"\\\1", line)
