"""Real clusters, in processes of their own, with workers and coordinators that are killed."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from joblib import Parallel, delayed
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.machines import LostTask, cluster, completed
from symloss.machines.cluster import _check_versions

HERE = Path(__file__).parent
PATIENCE = 300  # seconds; Ray's workers are nice, and give way to all else on the machine
REPRODUCE = [sys.executable, "-c", "from symloss.cli import app; app()", "reproduce", "uci"]
CELLS = ["--noise", "1,0", "--noise", "0.8,0.3", "--trials", "1", "--losses", "unhinged", "--risks", "auc"]
DOOMED_CELLS = ["--datasets", "doomed:load,twonorm", *CELLS]


def variables(doomed):
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(sl.__file__).parents[1]), str(HERE)]),
        "DOOMED": str(doomed),
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),  # else Ray writes one into the home folder
    }


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "doomed").mkdir()
    return variables(tmp_path / "doomed")


@pytest.fixture(scope="module")
def local_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    (folder / "pid").symlink_to("nobody")  # so that none waits to be killed
    command = [*REPRODUCE, *DOOMED_CELLS, "--jobs", "1", "--out", str(folder)]
    subprocess.run(command, env=variables(folder), check=True)
    assert len(results(folder)) == 4
    return results(folder)


def wait_until(true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def end(process):
    process.kill()
    with process:  # close its pipe, and wait
        pass


def run_and_kill_the_doomed(command, environment):
    """Run a command, kill the worker that waits for it, and return what was printed and the calls of each process."""
    doomed = Path(environment["DOOMED"])
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until(lambda: os.path.lexists(doomed / "pid") or process.poll() is not None)
        pid = int(str((doomed / "pid").readlink()))
        assert pid != process.pid
        os.kill(pid, signal.SIGKILL)
        printed, _ = process.communicate(timeout=PATIENCE)
    finally:
        end(process)
    assert process.returncode == 0, printed
    return printed, (doomed / "calls").read_text().split()


def results(folder):
    """All cells of a folder, but for what differs from run to run."""
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    for cell in found.values():
        del cell["seconds"]
        cell.pop("finished", None)
    return found


@pytest.mark.cluster
@pytest.mark.parametrize("backend", ["loky", "dask", "ray"])
def test_a_killed_worker_loses_and_doubles_no_cell(backend, environment, local_results, tmp_path):
    command = [*REPRODUCE, *DOOMED_CELLS, "--jobs", "2", "--backend", backend, "--out", str(tmp_path / "out")]
    printed, calls = run_and_kill_the_doomed(command, environment)
    assert "worker died" in printed
    assert len(calls) >= 3  # two cells, one of them twice; with loky perhaps both
    for cell in ("doomed:load (1.0, 0.0)", "doomed:load (0.8, 0.3)", "twonorm (1.0, 0.0)", "twonorm (0.8, 0.3)"):
        assert printed.count(f"{cell}: ") == 1
    assert results(tmp_path / "out") == local_results


@pytest.mark.cluster
@pytest.mark.parametrize(("backend", "workers"), [("dask", 1), ("ray", 2)])  # Dask's only worker takes the data with it
def test_a_fit_with_a_killed_worker_is_the_local_fit(backend, workers, environment):
    command = [sys.executable, str(HERE / "fit_here_and_there.py"), backend, str(workers)]
    printed, _ = run_and_kill_the_doomed(command, environment)
    assert "worker died" in printed


@pytest.mark.cluster
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_fit_within_joblibs_parallel_config_is_the_local_fit(backend, environment):
    command = [sys.executable, str(HERE / "fit_here_and_there.py"), backend, "joblib"]
    run_and_kill_the_doomed(command, environment)


@pytest.mark.cluster
def test_a_killed_coordinator_resumes_and_leaves_no_worker(environment, tmp_path):
    command = [*REPRODUCE, "--datasets", "twonorm,waveform", *CELLS, "--backend", "dask", "--jobs", "1"]
    command += ["--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: results(tmp_path / "out"))
    workers = psutil.Process(process.pid).children(recursive=True)
    end(process)
    kept = results(tmp_path / "out")
    assert 1 <= len(kept) < 4
    assert workers
    wait_until(lambda: not any(worker.is_running() for worker in workers))
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr.count("done before") + done.stdout.count("done before") == len(kept)
    assert len(results(tmp_path / "out")) == 4
    assert kept.items() <= results(tmp_path / "out").items()


@pytest.mark.cluster
@pytest.mark.parametrize("backend", ["loky", "dask", "ray"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_leaves_no_worker(number, code, backend, environment, tmp_path):
    doomed = Path(environment["DOOMED"])
    stop(backend, environment, tmp_path, number, code, lambda _: os.path.lexists(doomed / "pid"))  # it would wait long


@pytest.mark.cluster
@pytest.mark.parametrize(("backend", "seconds"), [("ray", 0), ("ray", 0.5), ("ray", 1.5), ("dask", 0), ("dask", 1)])
def test_an_interrupt_while_a_cluster_starts(backend, seconds, environment, tmp_path):
    def starts(process):
        name = {"ray": "gcs_server", "dask": "python"}[backend]
        with contextlib.suppress(psutil.NoSuchProcess):
            return any(name in child.name() for child in process.children())
        return False

    loud = backend == "dask"  # its workers hear Ctrl-C themselves until they are started
    stop(backend, environment, tmp_path, signal.SIGINT, 130, starts, seconds, loud)


def stop(backend, environment, folder, number, code, is_time, seconds=0, loud=False):
    """Stop a sweep so many seconds after a time; it should end with the code, no trace, and all that it started."""
    command = [*REPRODUCE, *DOOMED_CELLS, "--jobs", "2", "--backend", backend, "--out", str(folder / "out")]
    with (folder / "printed").open("w") as file:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
        )
    try:
        root, started = psutil.Process(process.pid), set()
        wait_until(lambda: is_time(root))
        time.sleep(seconds)
        started.update(root.children(recursive=True))
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)

        def has_ended():
            with contextlib.suppress(psutil.NoSuchProcess):
                started.update(root.children(recursive=True))
            return process.poll() is not None

        wait_until(has_ended)
        printed = (folder / "printed").read_text()
        assert process.returncode == code, printed
        assert "Traceback" not in printed or loud
        assert "SIG" not in printed  # Ray names the signal above its native trace
        assert started
        _, left = psutil.wait_procs(started, timeout=10)
        assert not left
    finally:
        end(process)


@pytest.mark.cluster
def test_a_running_dask_cluster_with_another_and_with_this_version(environment, tmp_path):
    fake = tmp_path / "symloss"
    fake.mkdir()
    (fake / "__init__.py").write_text("__version__ = '0.0.1'\n")
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    file = tmp_path / "scheduler.json"
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
    started = []

    def start(command, variables):
        started.append(subprocess.Popen(command, env=variables, cwd=tmp_path.parent, stderr=subprocess.DEVNULL))

    try:
        start([*dask, "--no-dashboard", "--scheduler-file", str(file)], environment)
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        command = [*REPRODUCE, "--datasets", "twonorm", *CELLS, "--backend", "dask", "--scheduler-address", address]
        command += ["--out", str(tmp_path / "out")]
        start([*worker, "--no-nanny"], environment | {"PYTHONPATH": str(tmp_path)})
        refused = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert refused.returncode == 2
        assert f"has symloss 0.0.1, and this machine {sl.__version__}: make them equal" in refused.stderr
        end(started.pop())
        start([*worker, "--no-nanny"], environment)
        subprocess.run(command, env=environment, check=True)
        assert len(results(tmp_path / "out")) == 2
    finally:
        for process in started:
            end(process)


@contextlib.contextmanager
def ray_node(folder, environment, *options):
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus", "2"]
    command += ["--node-ip-address", "127.0.0.1", "--disable-usage-stats", *options]
    process = subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        kill_family(process)


def kill_family(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        for member in (*psutil.Process(process.pid).children(recursive=True), process):
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
    process.wait()


def free_ports(number):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [server.getsockname()[1] for server in servers]


def is_open(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def running_ray(environment):
    """A head, as the environment of who uses it, its addresses, and its process."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:  # Ray needs it short
        environment = environment | {"RAY_AUTH_MODE": "token", "RAY_TMPDIR": folder}
        head, client = free_ports(2)
        options = ["--head", "--port", str(head), "--ray-client-server-port", str(client), "--include-dashboard=false"]
        with ray_node(folder, environment, *options) as process:
            wait_until(lambda: process.poll() is not None or (is_open(head) and is_open(client)))
            assert process.poll() is None, "ray start failed"
            addresses = {"client": f"ray://127.0.0.1:{client}", "head": f"127.0.0.1:{head}", "auto": "auto"}
            yield environment, addresses, process


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory):
    with running_ray(variables(tmp_path_factory.mktemp("doomed"))) as (environment, addresses, _):
        yield environment, addresses


def ray_nodes(environment, address):
    script = "import ray, sys; ray.init(sys.argv[1]); print(sum(node['Alive'] for node in ray.nodes()))"
    return int(subprocess.check_output([sys.executable, "-c", script, address], env=environment, text=True))


@pytest.fixture
def undoomed(ray_cluster):
    """Forget who was killed in an earlier test, as the head's environment stays."""
    environment, _ = ray_cluster
    for name in ("pid", "calls"):
        (Path(environment["DOOMED"]) / name).unlink(missing_ok=True)


@pytest.mark.cluster
@pytest.mark.usefixtures("undoomed")
@pytest.mark.parametrize("kind", ["client", "head", "auto"])
def test_a_running_ray_cluster_and_a_killed_worker(kind, ray_cluster, local_results, tmp_path):
    environment, addresses = ray_cluster
    command = [*REPRODUCE, *DOOMED_CELLS, "--backend", "ray", "--scheduler-address", addresses[kind]]
    printed, calls = run_and_kill_the_doomed([*command, "--out", str(tmp_path / "out")], environment)
    assert "worker died" in printed
    assert len(calls) == 3
    assert results(tmp_path / "out") == local_results


@pytest.mark.cluster
@pytest.mark.usefixtures("undoomed")
def test_a_fit_on_a_running_ray_cluster_is_the_local_fit(ray_cluster):
    environment, addresses = ray_cluster
    command = [sys.executable, str(HERE / "fit_here_and_there.py"), "ray", addresses["client"]]
    printed, _ = run_and_kill_the_doomed(command, environment)
    assert "worker died" in printed


@pytest.mark.cluster
@pytest.mark.parametrize(("backend", "where"), [("dask", "2"), ("ray", "client")])
def test_an_exception_that_cannot_be_pickled_is_an_error_all_the_same(backend, where, ray_cluster):
    environment, addresses = ray_cluster
    command = [sys.executable, str(HERE / "raise_there.py"), backend, addresses.get(where, where)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert "RuntimeError: a task's exception cannot be pickled" in done.stderr
    assert "TwoWordsError: not found" in done.stderr
    assert "worker died" not in done.stderr


@pytest.mark.cluster
def test_a_running_ray_cluster_with_a_node_of_another_version(ray_cluster, tmp_path):
    environment, addresses = ray_cluster
    (tmp_path / "symloss").mkdir()
    (tmp_path / "symloss" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    command = [*REPRODUCE, "--datasets", "twonorm", *CELLS, "--backend", "ray"]
    command += ["--scheduler-address", addresses["head"], "--out", str(tmp_path / "out")]
    other = environment | {"PYTHONPATH": str(tmp_path)}
    with ray_node(tmp_path, other, "--address", addresses["head"]):
        wait_until(lambda: ray_nodes(environment, addresses["head"]) == 2)
        refused = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert refused.returncode == 2
    assert f"has symloss 0.0.1, and this machine {sl.__version__}: make them equal" in refused.stderr


@pytest.mark.cluster
def test_a_lost_ray_head_is_an_error_of_one_line(tmp_path):
    (tmp_path / "pid").symlink_to("nobody")
    with running_ray(variables(tmp_path)) as (environment, addresses, head):
        command = [*REPRODUCE, *DOOMED_CELLS, "--backend", "ray", "--scheduler-address", addresses["client"]]
        with (tmp_path / "printed").open("w") as file:
            command += ["--trials", "200", "--out", str(tmp_path / "out")]
            process = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            wait_until((tmp_path / "calls").exists)
            kill_family(head)
            assert process.wait(PATIENCE) == 2
        finally:
            end(process)
    printed = (tmp_path / "printed").read_text()
    assert "Traceback" not in printed
    assert "symloss: error: " in printed
    assert "local Ray instance" not in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--backend", "spark"], "backend must be one of loky, dask, ray, got 'spark'"),
        (["--scheduler-address", "tcp://127.0.0.1:1"], "loky runs on this machine and takes no address"),
        (["--backend", "dask", "--scheduler-address", "tcp://127.0.0.1:1"], "no Dask cluster at tcp://127.0.0.1:1: "),
        (["--backend", "ray", "--scheduler-address", "ray://127.0.0.1:1"], "no Ray cluster at ray://127.0.0.1:1: "),
        (["--backend", "ray", "--scheduler-address", "somewhere"], "it should be as in tcp://host:8786"),
        (
            ["--backend", "dask", "--scheduler-address", "tcp://a:1", "--jobs", "2"],
            "jobs is for a cluster that is started",
        ),
    ],
)
def test_clusters_that_cannot_be_had(options, message):
    result = CliRunner().invoke(app, ["reproduce", "uci", *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n"])
def test_something_else_than_a_scheduler_listens(answer, monkeypatch):
    module = sys.modules["symloss.machines.cluster"]  # its name in the package is the function's
    monkeypatch.setattr(module, "_SECONDS", 1)
    monkeypatch.setattr(module, "_ANSWER", 2)
    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_all, args=(server, answer), daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}"), cluster("dask", address):
            pass
    assert time.monotonic() - started < 15


def answer_all(server, answer):
    callers = []  # who would be hung up on otherwise
    with contextlib.suppress(OSError):
        while True:
            callers.append(server.accept()[0])
            callers[-1].sendall(answer)


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_package_that_is_not_installed(backend, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'pip install "symloss\[{backend}\]"'), cluster(backend):
        pass


def test_rays_own_user_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: True))  # and no shutdown
    with (
        pytest.raises(RuntimeError, match=r"already: joblib.parallel_config\('symloss-ray'\) runs on it"),
        cluster("ray"),
    ):
        pass


USERS_OWN = """
import joblib
from joblib.parallel import BACKENDS, ThreadingBackend, register_parallel_backend

class Theirs(ThreadingBackend):
    calls = 0
    def configure(self, *args, **kwargs):
        Theirs.calls += 1
        return super().configure(*args, **kwargs)

register_parallel_backend("ray", Theirs)
import symloss as sl

drawn = sl.datasets.make_twonorm(200, random_state=0)
pool = [("unhinged", sl.AUCClassifier("unhinged")), ("logistic", sl.AUCClassifier("logistic"))]
here = sl.AUCClassifierCV(pool, random_state=0).fit(drawn.data, drawn.target)
for context in (joblib.parallel_config, joblib.parallel_backend):
    before = Theirs.calls
    with context("ray", n_jobs=2):
        there = sl.AUCClassifierCV(pool, random_state=0).fit(drawn.data, drawn.target)
    assert Theirs.calls > before
    assert (there.oof_scores_ == here.oof_scores_).all()
with sl.machines.cluster("loky", jobs=1):
    sl.AUCClassifierCV(pool, random_state=0).fit(drawn.data, drawn.target)
assert "symloss-ray" not in BACKENDS
sl.machines.register_ray()
assert BACKENDS["ray"] is Theirs
assert BACKENDS["symloss-ray"] is not Theirs
"""


@pytest.mark.slow
def test_a_users_backend_named_ray_stays_theirs_and_runs_our_fits():
    subprocess.run([sys.executable, "-c", USERS_OWN], check=True)


RAYS_OWN = """
import joblib, ray
from joblib.parallel import get_active_backend
from ray.util.joblib import register_ray

register_ray()
import symloss as sl

drawn = sl.datasets.make_twonorm(200, random_state=0)
pool = [("unhinged", sl.AUCClassifier("unhinged"))]  # few tasks: Ray's own starts its workers anew for every few
here = sl.AUCClassifierCV(pool, cv=2, random_state=0).fit(drawn.data, drawn.target)
ray.init("local", num_cpus=2, include_dashboard=False)
with joblib.parallel_backend("ray"):
    assert type(get_active_backend()[0]).__module__.startswith("ray.")
    there = sl.AUCClassifierCV(pool, cv=2, random_state=0).fit(drawn.data, drawn.target)
assert (there.oof_scores_ == here.oof_scores_).all()
"""


@pytest.mark.cluster
def test_rays_own_backend_runs_our_fits(environment):
    subprocess.run([sys.executable, "-c", RAYS_OWN], check=True, env=environment)


def test_workers_without_symloss_are_refused():
    with pytest.raises(ValueError, match="worker tcp://w has symloss none"):
        _check_versions({"tcp://w": {"symloss": "none", "torch": "none", "numpy": "none"}})


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_given_up_and_stops_no_other():
    tasks = [("__import__('os')._exit(1)",), ("6 * 7",), ("__import__('os')._exit(2)",), ("7 * 7",)]
    found = dict(completed(eval, tasks, jobs=2))
    assert (found[1], found[3]) == (42, 49)
    assert isinstance(found[0], LostTask)
    assert isinstance(found[2], LostTask)


def test_an_error_in_a_block_leaves_joblibs_other_work_alone():
    with ThreadPoolExecutor(1) as thread:
        others = thread.submit(lambda: Parallel(2)(delayed(time.sleep)(0.2) for _ in range(10)))
        time.sleep(0.5)
        with pytest.raises(KeyError), cluster("loky", jobs=2):
            raise KeyError("mine")
        assert others.result() == [None] * 10


@pytest.mark.parametrize("jobs", [0, -2, 1.5, "2", None])
def test_a_number_of_processes_that_is_none(jobs):
    with pytest.raises(ValueError, match=f"or -1 for one per core; got {jobs!r}"), cluster("loky", jobs=jobs):
        pass


def test_a_number_of_processes_by_numpy():
    with cluster("loky", jobs=np.int64(1)):
        assert Parallel()([delayed(pow)(2, 3)]) == [8]


def test_an_error_of_the_function_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(completed(divmod, [(1, 1), (1, 0)], jobs=2))
