import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from symloss.datasets import download as module
from symloss.datasets.download import download

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def part(tmp_path):
    return tmp_path / "part"


def test_a_whole_download(site, part):
    download(site.serve("x", CONTENT), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert site.asked == [("x", None)]


def test_a_broken_download_is_taken_up_where_it_broke_off(site, part):
    download(site.serve("x", CONTENT, breaks=[1000, 500]), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert site.asked == [("x", None), ("x", "bytes=1000-"), ("x", "bytes=1500-")]


def test_a_server_without_ranges_is_asked_for_everything_again(site, part):
    download(site.serve("x", CONTENT, breaks=[1000], ranges=False), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_a_server_that_always_breaks_off_is_given_up(site, part):
    url = site.serve("x", CONTENT, breaks=[1000] * 9, ranges=False)
    with pytest.raises(OSError, match=f"broke off after 1000 bytes: {len(CONTENT)} bytes were announced"):
        download(url, part, len(CONTENT))
    assert len(site.asked) == 2
    url = site.serve("x", CONTENT, breaks=[10] * 9)
    with pytest.raises(OSError, match="broke off after 1050 bytes"):
        download(url, part, len(CONTENT))
    assert len(site.asked) == 2 + module.TRIES


def test_the_bytes_of_last_time_are_used(site, part):
    part.write_bytes(CONTENT[:3000])
    download(site.serve("x", CONTENT), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert site.asked == [("x", "bytes=3000-")]


def test_all_bytes_were_there_already(site, part):
    part.write_bytes(CONTENT)
    download(site.serve("x", CONTENT), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert site.asked == [("x", f"bytes={len(CONTENT)}-")]


def test_more_bytes_than_the_server_has_are_of_another_file(site, part):
    part.write_bytes(CONTENT + b"more")
    download(site.serve("x", CONTENT), part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_other_bytes_than_those_asked_for_are_refused(site, part):
    part.write_bytes(CONTENT[:100])
    with pytest.raises(OSError, match=f"asked for the bytes from 100, got bytes 103-{len(CONTENT) - 1}/{len(CONTENT)}"):
        download(site.serve("x", CONTENT, shift=3), part, len(CONTENT))
    assert part.read_bytes() == CONTENT[:100]


@contextmanager
def interrupted(*_):
    def advance(_):
        raise KeyboardInterrupt

    yield advance


def test_an_interrupt_leaves_what_has_arrived(site, part, monkeypatch):
    url = site.serve("x", CONTENT)
    monkeypatch.setattr(module, "CHUNK", 4096)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_progress", interrupted)
        with pytest.raises(KeyboardInterrupt):
            download(url, part, len(CONTENT))
    assert part.read_bytes() == CONTENT[:4096]
    download(url, part, len(CONTENT))
    assert part.read_bytes() == CONTENT
    assert site.asked == [("x", None), ("x", "bytes=4096-")]


@pytest.mark.parametrize("length", [True, False])
def test_more_than_expected_is_refused(site, part, length):
    with pytest.raises(ValueError, match=r"at most 500 bytes, got \d+ or more"):
        download(site.serve("x", CONTENT, length=length), part, 500)
    assert not part.exists() or part.stat().st_size <= 500


def test_no_length_announced(site, part):
    download(site.serve("x", CONTENT, length=False), part, len(CONTENT))
    assert part.read_bytes() == CONTENT


def test_no_such_page_and_no_such_server(site, part):
    with pytest.raises(OSError, match="404"):
        download(f"{site.url}/absent", part, 10)
    with pytest.raises(OSError, match="refused"):
        download("http://127.0.0.1:1/x", part, 10)
    assert not part.exists()


def test_a_server_that_does_not_answer(part, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(OSError, match="timed out"):
        download(f"http://127.0.0.1:{silent.getsockname()[1]}/x", part, 10)


def test_the_progress_bar_is_for_terminals_only(site, part, monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    download(site.serve("silent.zip", CONTENT), part, len(CONTENT))
    assert capsys.readouterr() == ("", "")
    part.unlink()
    monkeypatch.setenv("FORCE_COLOR", "1")
    download(site.serve("shown.zip", CONTENT), part, len(CONTENT))
    out, shown = capsys.readouterr()
    assert out == ""
    assert "shown.zip" in shown


@contextmanager
def server_that_sends(pieces, pause=0.0):
    """Answer one request with raw bytes, piece by piece; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(4096)
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x"
        thread.join()


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"nonsense\r\n\r\n", "BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", "LineTooLong"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 200 + b"\r\n", "more than 100 headers"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://h:notaport/\r\n\r\n", "nonnumeric port"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "Content-Length must be a number, got many"),
    ],
)
def test_an_answer_that_is_no_http_is_an_error_like_others(part, head, reason):
    with server_that_sends([head]) as url, pytest.raises(OSError, match=reason):
        download(url, part, 10)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"", "no complete answer within"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "bytes came within"),
    ],
)
def test_a_server_that_sends_byte_by_byte_is_given_up(part, monkeypatch, start, reason):
    monkeypatch.setattr(module, "PATIENCE", 0.3)
    monkeypatch.setattr(module, "TRIES", 1)
    with server_that_sends([start, *[b"x"] * 20], 0.03) as url, pytest.raises(OSError, match=reason):
        download(url, part, 1000)


def test_a_slow_server_that_sends_enough_is_not_given_up(part, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.3)
    monkeypatch.setattr(module, "ENOUGH", 10)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n"
    with server_that_sends([head, *[b"x" * 20] * 10], 0.04) as url:
        download(url, part, 200)
    assert part.read_bytes() == b"x" * 200
