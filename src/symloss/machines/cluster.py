"""Where joblib runs work: processes of this machine, or a cluster of Dask or Ray, started here or already running."""

from __future__ import annotations

import logging
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from joblib import cpu_count, parallel_config
from joblib.externals.loky import get_reusable_executor

from symloss.extras import require
from symloss.machines.ray_backend import RayBackend

_LOG = logging.getLogger(__name__)
_SECONDS = 10  # how long to wait for a cluster to answer
_ANSWER = 15  # how many seconds Dask or Ray may take to connect
_TOKEN = "; where Ray asks for a token, both sides need RAY_AUTH_MODE=token and the same RAY_AUTH_TOKEN"
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"  # on Ctrl-C, this process ends the workers
_NEW_WORKER = 60  # how many seconds to wait for a new worker after the last one died


@contextmanager
def cluster(backend: str = "loky", address: str | None = None, jobs: int = -1) -> Iterator[None]:
    """Run the joblib calls inside the block on several processes or machines.

    Parameters
    ----------
    backend : {"loky", "dask", "ray"}
        Processes of this machine, or a cluster of Dask or Ray.
    address : str, optional
        The address of a running cluster: ``tcp://host:8786`` for Dask's scheduler, ``ray://host:10001`` for a Ray head,
        or ``auto`` on a machine that belongs to a Ray cluster. The machines of the cluster need the same versions of
        symloss, PyTorch and NumPy as this one.
    jobs : int
        The number of processes to start here, with one thread each, if no address is given; -1 means one per core.

    Examples
    --------
    >>> from joblib import Parallel, delayed
    >>> with cluster("loky", jobs=1):
    ...     Parallel()(delayed(pow)(k, 2) for k in range(4))
    [0, 1, 4, 9]
    """
    if backend not in _OPEN:
        raise ValueError(f"backend must be one of {', '.join(_OPEN)}, got {backend!r}")
    if not isinstance(jobs, int | np.integer) or jobs == 0 or jobs < -1:
        raise ValueError(f"jobs must be a number of processes, or -1 for one per core; got {jobs!r}")
    if address is not None and jobs != -1:
        raise ValueError(f"jobs is for a cluster that is started here; the one at {address} has its own workers")
    processes = cpu_count() if jobs == -1 else jobs
    with _OPEN[backend](address, processes) as configuration, parallel_config(**configuration):
        yield


@contextmanager
def _loky(address: str | None, jobs: int) -> Iterator[dict[str, Any]]:
    if address is not None:
        raise ValueError(f"loky runs on this machine and takes no address, got {address}; use dask or ray")
    try:
        yield {"backend": "loky", "n_jobs": jobs}
    except (KeyboardInterrupt, SystemExit):  # otherwise the workers would finish their tasks, or wait for more
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)
        raise


@contextmanager
def _dask(address: str | None, jobs: int) -> Iterator[dict[str, Any]]:
    require("dask", "the dask backend needs Dask", "distributed")
    from distributed import Client, LocalCluster

    from symloss.machines.dask_backend import DaskBackend

    if address is None:
        options: dict[str, Any] = {"dashboard_address": None, "worker_dashboard_address": None, "preload": [_DEAF]}
        with (
            tempfile.TemporaryDirectory(prefix="dask-", ignore_cleanup_errors=True) as folder,
            ExitStack() as stack,
        ):
            with _interrupts_wait():
                local = LocalCluster(n_workers=jobs, threads_per_worker=1, local_directory=folder, **options)
                client = stack.enter_context(Client(stack.enter_context(local)))
            stack.enter_context(_deaths_told(client))
            yield {"backend": DaskBackend(client=client, wait_for_workers_timeout=_NEW_WORKER)}
        return
    _check_answer("Dask", address)
    with _connected("Dask scheduler", address, lambda: Client(address, timeout=_SECONDS)) as client:
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError:
            raise ConnectionError(f"the Dask cluster at {address} has no worker after {_SECONDS} s") from None
        _check_versions(client.run(_probe()))
        with _deaths_told(client):
            yield {"backend": DaskBackend(client=client, wait_for_workers_timeout=_NEW_WORKER)}


@contextmanager
def _deaths_told(client: Any) -> Iterator[None]:
    """Log a warning when a Dask worker dies; Dask itself runs the tasks of this worker again."""

    def tell(event: Any) -> None:
        _, what = event
        if isinstance(what, dict) and what.get("action") == "remove-worker" and not what.get("expected"):
            _LOG.warning("a Dask worker died (%s); what it had is run again", what["worker"])

    client.subscribe_topic("all", tell)
    try:
        yield
    finally:
        client.unsubscribe_topic("all")


@contextmanager
def _ray(address: str | None, jobs: int) -> Iterator[dict[str, Any]]:
    require("ray", "the ray backend needs Ray", "ray")
    import ray

    if ray.is_initialized():
        raise RuntimeError(
            "Ray is in use in this process already: joblib.parallel_config('symloss-ray') runs on it, "
            "after symloss.machines.register_ray()"
        )
    if address is None:
        with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
            try:
                with _interrupts_wait():
                    ray.init("local", num_cpus=jobs, include_dashboard=False, _temp_dir=folder)
                yield {"backend": RayBackend()}
            finally:
                ray.shutdown()
        return
    if address != "auto":
        _check_answer("Ray", address)
    # We connect in a thread, where Ray cannot handle SIGTERM: its warning about that is hidden.
    logging.getLogger("ray._private.worker").addFilter(lambda record: "SIGTERM" not in str(record.msg))
    _connected("Ray cluster", address, lambda: ray.init(address), _TOKEN)
    try:
        _check_versions(_on_every_ray_node(_probe()))
        yield {"backend": RayBackend()}
    finally:
        ray.shutdown()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Delay Ctrl-C until a cluster has started: before that, it crashes Ray, and makes Dask flood the terminal.

    Ray replaces the handler of SIGTERM when it starts. If the program had a handler of its own, that one is put back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    on_terminate = signal.getsignal(signal.SIGTERM)
    on_interrupt = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, on_interrupt or signal.SIG_DFL)
        if callable(on_terminate):
            signal.signal(signal.SIGTERM, on_terminate)
        if came:
            signal.raise_signal(signal.SIGINT)


def _on_every_ray_node(function: Callable[[], Any]) -> dict[str, Any]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        raise ConnectionError("the Ray cluster has no CPU to run on")
    there = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    remote = ray.remote(num_cpus=0)(function)
    found = ray.get([remote.options(scheduling_strategy=where).remote() for where in there])
    names = [f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}" for node in nodes]
    return dict(zip(names, found, strict=True))


def _check_answer(name: str, address: str) -> None:
    """Raise a clear error at once if nothing listens at the address; Dask and Ray would keep trying for a minute."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        if not parts.hostname or not parts.port:
            raise ValueError("it should be as in tcp://host:8786 or ray://host:10001")
        socket.create_connection((parts.hostname, parts.port), _SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no {name} cluster at {address}: {error}") from None


def _connected(name: str, address: str, connect: Callable[[], Any], hint: str = "") -> Any:
    """Return what ``connect`` returns, or raise a clear error: another program may listen there, and never answer."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(connect())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()  # a thread of a pool would keep the process from ending
    try:
        return found.result(_ANSWER)
    except TimeoutError:
        why = f"it said nothing in {_ANSWER} s{hint}"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    raise ConnectionError(f"no {name} answers at {address}: {why}")


def _probe() -> Callable[[], dict[str, str]]:
    """Return a function that returns the versions on a worker; it also runs on workers that do not have symloss."""

    def versions() -> dict[str, str]:
        from importlib import import_module

        found = {}
        for name in ("symloss", "torch", "numpy"):
            try:
                found[name] = str(import_module(name).__version__).partition("+")[0]  # 2.13.0, not 2.13.0+cpu
            except ImportError:
                found[name] = "none"
        return found

    return versions


def _check_versions(of_workers: dict[str, dict[str, str]]) -> None:
    """Raise an error if a worker has other versions than this process, because its results might differ."""
    here = _probe()()
    for worker, there in of_workers.items():
        for name, version in here.items():
            if there[name] != version:
                raise ValueError(
                    f"worker {worker} has {name} {there[name]}, and this machine {version}: make them equal"
                )


_OPEN = {"loky": _loky, "dask": _dask, "ray": _ray}
