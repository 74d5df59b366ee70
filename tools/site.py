"""`python -m tools.site [OUT]`: the documentation as a site of HTML pages (`make site`).

The pages are those of the repository, at their own places, so that links between them lead where they lead in a checkout.
Files that pages link to and that are no pages (sources, pictures) are copied. Needs mkdocs-material (requirements/site.txt).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "site_pages"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# Tables scroll in a box of their own (the theme's) where they do not fit, and names in them stay whole; the theme's 61 rem are too narrow for most.
STYLE = """.md-grid { max-width: 80rem; }
.md-typeset table:not([class]) th, .md-typeset table:not([class]) td { padding: .5em .7em; min-width: 0; }
.md-typeset table:not([class]) td:nth-child(-n+2) { overflow-wrap: anywhere; min-width: 4rem; }
.md-typeset table:not([class]) td:first-child { min-width: 7.5rem; }
@media (min-width: 60em) { .md-typeset table code { white-space: nowrap; word-break: normal; } }
"""
NAVIGATION: list[dict[str, object]] = [
    {"Start": [{"What it is": "README.md"}, {"Your first program": "docs/first_program.md"}, {"How good is it": "docs/how_good_is_it.md"}]},
    {
        "How to": [
            {"Bring a model": "docs/bring_a_model.md"},
            {"Edit and check": "docs/edit_and_check.md"},
            {"Make it faster": "docs/make_it_faster.md"},
            {"Choose levels": "docs/optimizer.md"},
            {"Embed C++": "docs/embed_in_cpp.md"},
            {"Read and write MLIR": "docs/mlir_in_and_out.md"},
            {"Use tt-mlir's files": "docs/toolchain.md"},
            {"Generate text": "docs/generate_text.md"},
            {"Record a trace": "docs/trace.md"},
            {"Fuse kernels": "docs/ttnn_jit.md"},
            {"Capture a graph": "docs/graph.md"},
            {"Several chips": "docs/several_chips.md"},
        ]
    },
    {"Look up": [{name: f"docs/{name.lower()}.md"} for name in ("Glossary", "Options", "Errors", "Ops", "ONNX")]},
    {"Understand": [{"What --check accepts": "docs/check.md"}, {"Numerics": "docs/numerics.md"}]},
    {"Design": [{name: f"docs/design/{name.lower()}.md"} for name in ("Architecture", "Tensix")]},
]


def tracked() -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def gather() -> list[str]:
    """Copies the pages and what they link to into PAGES. Returns the pages."""
    files = set(tracked())
    pages = [name for name in files if name.endswith(".md") and not name.startswith(("tests/data/", "licenses/", ".github/"))]
    wanted = set(pages)
    for page in pages:
        for target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            path = (ROOT / page).parent.joinpath(target).resolve()
            if path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) in files:
                wanted.add(str(path.relative_to(ROOT)))
    shutil.rmtree(PAGES, ignore_errors=True)
    for name in sorted(wanted):
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, PAGES / name)
    (PAGES / "extra.css").write_text(STYLE, encoding="utf-8")
    return sorted(pages)


def configuration(pages: list[str], out: Path) -> dict[str, object]:
    measurements = [{Path(page).stem.replace("_", " ").capitalize(): page} for page in pages if page.startswith("docs/lab/")]
    return {
        "site_name": "alchemist",
        "docs_dir": str(PAGES),
        "site_dir": str(out),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,  # no request to another host
            "features": ["navigation.tabs", "navigation.top", "content.code.copy", "search.suggest"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
            ],
        },
        "markdown_extensions": ["admonition", "tables", "sane_lists", {"toc": {"permalink": True}}, "pymdownx.highlight", "pymdownx.superfences"],
        "plugins": ["search"],
        "extra_css": ["extra.css"],
        "validation": {"links": {"not_found": "warn", "absolute_links": "warn"}, "nav": {"omitted_files": "ignore"}},
        "nav": [*NAVIGATION, {"Measurements": measurements}],
    }


def main(out: Path) -> int:
    pages = gather()
    file = ROOT / "build" / "mkdocs.yml"
    file.write_text(yaml.safe_dump(configuration(pages, out.resolve()), sort_keys=False), encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", str(file)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
