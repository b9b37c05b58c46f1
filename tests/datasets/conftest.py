"""A cache of its own for every test, a web server on this machine, and data sets that it serves."""

import hashlib
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import symloss as sl
from symloss.datasets.catalog import CATALOG
from symloss.datasets.records import DataFile, Known, Mirror


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMLOSS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMLOSS_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache"


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    folder = tmp_path / "given"
    folder.mkdir()
    monkeypatch.setenv("SYMLOSS_DATA", str(folder))
    return folder


@dataclass
class Page:
    content: bytes
    status: int = 200
    ranges: bool = True  # whether it understands Range
    shift: int = 0  # by how many bytes it misunderstands Range
    breaks: list[int] = field(default_factory=list)  # after how many bytes each answer in turn breaks off
    length: bool = True  # whether it announces its length
    seconds: float = 0.0  # how long it makes wait


@dataclass
class Site:
    url: str = ""
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range of each request

    def serve(self, path, content, **how):
        self.pages[path] = Page(content, **how)
        return f"{self.url}/{path}"


@pytest.fixture
def site():
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path, asked = self.path.lstrip("/"), self.headers.get("Range")
            site.asked.append((path, asked))
            page = site.pages.get(path, Page(b"not here", status=404))
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and page.ranges else 0
            start += page.shift if start else 0
            body = page.content[start:]
            if start >= len(page.content) > 0:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(page.content)}")
                self.end_headers()
                return
            self.send_response(206 if start else page.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(page.content) - 1}/{len(page.content)}")
            if page.length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            time.sleep(page.seconds)
            self.wfile.write(body[: page.breaks.pop(0)] if page.breaks else body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def register(monkeypatch):
    """Put other files and mirrors behind a data set's name: small ones that a test writes."""

    def put(name, contents, mirrors=()):
        files = tuple(
            DataFile(file, (Known(hashlib.sha256(content).hexdigest(), len(content)),))
            for file, content in contents.items()
        )
        splits = sl.datasets.info(name).splits
        mirrors = tuple(Mirror(url, gives) for url, gives in mirrors)
        record = replace(sl.datasets.info(name), files=files, mirrors=mirrors, splits=splits)
        monkeypatch.setitem(CATALOG, name, record)
        return record

    return put
