"""Every test runs from a known seed, and on one thread or on ``OMP_NUM_THREADS``, as do the commands it starts.

Pages are opened in a real browser that must not ask the network for anything.
"""

import os
import shutil
from contextlib import contextmanager

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any library reads it

import pytest
import torch
from hypothesis import settings

settings.register_profile("symloss", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("symloss")


@pytest.fixture(autouse=True)
def _known_threads_and_seed():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)


ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    """Mark what needs the browser, which ``make test-pages`` runs."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser():
    executable = shutil.which("chromium")
    if not executable:
        pytest.skip("no chromium on the path: the pages are not looked at in a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive the browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def visits(browser):
    """Open files, each in a page of its own; at the end, nothing may have gone wrong and no request been tried."""
    troubles, contexts = [], []

    def open_file(path, anchor="", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)

        def stop(route):
            if route.request.url.startswith(("file:", "data:", "blob:")):
                return route.continue_()
            troubles.append(f"request: {route.request.url}")
            return route.abort()

        context.route("**/*", stop)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
        page.goto(f"{path.as_uri()}#{anchor}" if anchor else path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not troubles


@pytest.fixture
def visit(browser):
    with visits(browser) as open_file:
        yield open_file
