"""`alchemist explore --serve`, also called `tt-explorer`: an export's page with a form of compiler options.

Sending the form emits the program again with those options, prices it on the simulator and shows both. The server listens on this
machine alone, and takes a form only from a page of its own: a token in the form says so.
"""

from __future__ import annotations

import html
import secrets
import tempfile
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from alchemist.codegen import codegen_mlir
from alchemist.driver import explore_page
from alchemist.errors import AlchemistError, InputError, OptionError
from alchemist.options import pairs

ADDRESS = "127.0.0.1"
_MOST_BYTES = 1 << 16
_FORM = """<form method="post" style="padding:.5em 1em"><input type="hidden" name="token" value="{token}">
<label>options <input name="options" size="90" value="{options}" placeholder="optimization_level=2 override_output_layout=linear_3=8x8:l1"></label>
<button>emit, price, compare</button> <span>{said}</span></form>"""


class Explorer:
    """input: an export's directory, or a file of MLIR or `.ttnn`, which is exported first. folder: where programs are written."""

    def __init__(self, source: Path, folder: Path, namespace: explore_page.Namespace) -> None:
        self.folder, self.namespace, self.count = folder, namespace, 0
        self.export = source if source.is_dir() else self._emitted(source, "")
        stages = sorted((self.export / "irs").glob("*_ttir.mlir")) or sorted((self.export / "irs").glob("*_ttnn.mlir"))
        if not stages:
            explore_page.contents(self.export, namespace)  # reports the missing file
            raise InputError("no stage to compile again", location=str(self.export / "irs"), expected="a file NN_ttir.mlir")
        self.source = source if source.is_file() else stages[0]
        self.token = secrets.token_urlsafe(16)

    def _emitted(self, source: Path, options: str) -> Path:
        self.count += 1
        place = self.folder / (f"options_{self.count}" if options else "start")
        return Path(codegen_mlir(source, export_path=place, overwrite=True, export_golden="none", compiler_options=pairs(options)).path)

    def page(self, options: str = "") -> str:
        """The page; with `options`, of two exports. A compiler error becomes a line of the page."""
        exports, message = [explore_page.contents(self.export, self.namespace)], ""
        if options:
            try:
                emitted = self._emitted(self.source, options)
                exports.append(explore_page.contents(emitted, self.namespace))
                before, after = (export["device_ns"] for export in exports)
                message = f"A {before / 1000:.1f} us, B {after / 1000:.1f} us of device time (simulated); B is {emitted}"
            except AlchemistError as error:
                message = str(error)
        form = _FORM.format(token=self.token, options=html.escape(options), said=html.escape(message))
        return explore_page.rendered(exports).replace("<main>", f"{form}<main>", 1)


def _handler(explorer: Explorer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def _answer(self, status: HTTPStatus, text: str) -> None:
            data = text.encode("utf-8", "backslashreplace")
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _is_of_this_machine(self) -> bool:
            """A page of another site may reach this port by a name that leads here; its requests carry that name."""
            name = (self.headers.get("Host") or "").rpartition(":")[0]
            if name not in (ADDRESS, "localhost"):
                self._answer(HTTPStatus.FORBIDDEN, "ask this machine by 127.0.0.1 or localhost")
            return name in (ADDRESS, "localhost")

        def do_GET(self) -> None:
            if self._is_of_this_machine():
                is_root = self.path == "/"
                self._answer(HTTPStatus.OK if is_root else HTTPStatus.NOT_FOUND, explorer.page() if is_root else "the page is /")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length") or ""
            if not self._is_of_this_machine():
                return
            if not length.isdecimal() or int(length) > _MOST_BYTES:
                self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form of at most {_MOST_BYTES} bytes is expected")
                return
            fields = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"))
            if not secrets.compare_digest(fields.get("token", [""])[0].encode(), explorer.token.encode()):
                self._answer(HTTPStatus.FORBIDDEN, "reload the page: the form is of another one")
                return
            self._answer(HTTPStatus.OK, explorer.page(fields.get("options", [""])[0].strip()))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: requests are no news."""

    return Handler


def serve(source: Path, port: int, namespace: explore_page.Namespace, started: Callable[[HTTPServer], None] | None = None) -> None:
    """Serves until Ctrl-C. port: 0 takes a free one. started: called with the server before it listens.

    Raises:
        InputError: no export and no readable file. OptionError: the port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="alchemist-explorer-") as folder:
        explorer = Explorer(source, Path(folder), namespace)
        try:
            server = HTTPServer((ADDRESS, port), _handler(explorer))
        except OSError as error:
            raise OptionError(f"port {port} cannot be used: {error.strerror}", expected="a free port, or --port 0") from None
        with server:
            print(f"http://{ADDRESS}:{server.server_port}/ shows {source}; Ctrl-C ends it", flush=True)
            if started is not None:
                started(server)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print()
