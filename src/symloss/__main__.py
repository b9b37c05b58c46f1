"""``python -m symloss`` is the ``symloss`` command. Ctrl-C ends it with one line, whatever it is doing."""

import os
import signal
import sys
import threading
import time
from typing import Any

from symloss.messages import require

_interrupted = threading.Event()
_SECONDS = 3.0  # in which files that are half written are removed


def main() -> None:
    """Run the command, or say in one line how to install what it needs."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        # Blocked in every thread and, since they inherit it, in every process that is started: only one thread waits
        # for it, and it can speak while the main thread imports PyTorch or waits for workers.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        threading.Thread(target=_wait_for_interrupt, daemon=True).start()
    try:
        require("cli", "the symloss command needs typer and rich", "typer", "rich")
    except ImportError as error:
        print("symloss: error:", error, file=sys.stderr)
        sys.exit(2)
    from symloss.cli import app

    app(prog_name="symloss")


def _wait_for_interrupt() -> None:
    signal.sigwait({signal.SIGINT})
    _say_interrupted()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    time.sleep(_SECONDS)
    os._exit(130)


def _interrupt(number: int, frame: Any) -> None:
    _say_interrupted()
    _end(number, frame)


def _say_interrupted() -> None:
    clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""  # a bar is drawn there, and hides the cursor
    print(f"{clear}symloss: interrupted", file=sys.stderr, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # nothing that breaks off has more to say
    _interrupted.set()


def _end(number: int, _: Any) -> None:
    """End the main thread, and the workers that it waits for."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(loky, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, kill_workers=True)
    sys.exit(130 if _interrupted.is_set() else 128 + number)


if __name__ == "__main__":
    main()
