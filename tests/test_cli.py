import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.cli.application import fit_progress
from symloss.paper.results import Run, tidy, write_run

OWN = Run(family="my", trials=2, scores=tidy({("auc", "sigmoid"): {"score": [90, 91]}}, "trial", "own", 1, 0))
COMMANDS = ["fit", "predict", "audit", "losses", "analyze", "figures", "datasets", "compare", "report", "explore",
            "reproduce"]  # fmt: skip


def run(*arguments, width=140):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width), "NO_COLOR": "1"})


def test_losses_shows_table_1():
    result = run("losses")
    assert result.exit_code == 0
    for name in sl.list_losses():
        assert sl.get_loss(name).title in result.output
    (row,) = (line for line in result.output.splitlines() if line.strip().startswith("Ramp"))
    assert row.split()[-3:] == ["×", "✓", "×"]


def test_analyze():
    result = run("analyze", "barrier_hinge")
    assert result.exit_code == 0
    assert "BarrierHinge(b=200, r=50)" in result.output
    assert "on [-50, 50] only" in result.output
    for name in ("symmetric", "convex", "calibrated", "auc consistent", "recovers eta"):
        assert name in result.output


def test_analyze_a_users_own_loss(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import torch, symloss as sl, math\n"
        "class Mine(sl.Loss):\n"
        "    def value(self, z):\n"
        "        return torch.sigmoid(-3 * z)\n"
        "def scalar(z):\n"
        "    return math.exp(-z)\n"
        "number = 3\n"
        "class Bracket(sl.Loss):\n"
        "    formula = '[z < 0] + [/z]'\n"
        "    def value(self, z):\n"
        "        return torch.relu(1 - z)\n"
        "class Broken(sl.Loss):\n"
        "    def __init__(self):\n"
        "        raise TypeError('boom')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert "l(z) + l(-z) = 1 at " in " ".join(run("analyze", "mine:Mine").output.split())
    for command, message in (
        (("analyze", "mine:Other"), "cannot import mine:Other"),
        (("analyze", "mine:scalar"), "mine:scalar failed on a tensor of margins"),
        (("analyze", "mine:number"), "got int"),
        (("explore", "--losses", "hinge,mine:scalar"), "mine:scalar failed on a tensor of margins"),
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze", "barrier"], "unknown loss 'barrier'; did you mean 'barrier_hinge'?"),
        (["analyze", "x" * 100_000], "unknown loss 'xxx"),
        (["analyze"], "Missing argument"),
        (["analyze", "no.such:Loss"], "cannot import no.such:Loss: ModuleNotFoundError"),
        (["nonsense"], "No such command"),
        (["losses", "--nonsense"], "No such option"),
        (["figures", "--out", "/dev/null/x"], "/dev/null"),
        (["datasets", "iris"], "unknown data set 'iris'; known data sets: spambase, "),
        (["datasets", "--fetch"], "--fetch needs the names of data sets"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert len(result.output) < 2100
    assert result.stderr.startswith("symloss: error: ")
    assert message in result.stderr


def test_figures(tmp_path):
    result = run("figures", "--out", str(tmp_path / "figures"))
    assert result.exit_code == 0
    assert len(list((tmp_path / "figures").iterdir())) == 6


def test_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMLOSS_CACHE", str(tmp_path))
    monkeypatch.delenv("SYMLOSS_DATA", raising=False)
    result = run("datasets")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.output.splitlines() if line.strip()}
    assert set(sl.datasets.list_datasets()) < set(lines)
    assert lines["spambase"].split() == ["spambase", "4,601", "57", "39.4%", "UCI", "CC", "BY", "4.0", "no"]
    assert lines["twonorm"].endswith("generator ")
    (tmp_path / "spambase.data").touch()
    assert run("datasets", "spambase").output.count("cache") == 1


def test_datasets_fetch_verifies(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path))
    (tmp_path / "spambase.data").write_text("1,2,3")
    result = run("datasets", "spambase", "--fetch")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert f"{tmp_path}/spambase.data is not what is published and is not used: expected SHA" in result.stderr


def test_help_and_version():
    assert run("--version").output.strip() == sl.__version__
    for arguments in ([], ["--help"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert all(command.split()[0] in result.output for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    shown = run(*command.split(), "--help", width=80).output
    assert f"Example: symloss {command}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_help_answers_without_pytorch():
    code = "import sys; sys.argv = ['symloss', '--help']\ntry:\n    from symloss.__main__ import main; main()\n"
    code += "except SystemExit:\n    print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "False"


def test_progress_in_a_terminal_is_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # for Rich this is a terminal
    monkeypatch.setenv("TERM", "xterm")
    with fit_progress() as progress:
        progress("linear [bold]", 1, 2)
        progress("another", 1, 5)
    assert "1/5" in capsys.readouterr().err


def alive_in(group):
    """The processes of a group."""
    shown = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if re.match(rf"\s*{group}\s+[^Z]", line)]


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps, to list processes")
def test_an_interrupt_ends_a_fit_with_one_line_and_leaves_no_worker(tmp_path):
    rows = "".join(f"{k % 97},{k % 89},{k % 2}\n" for k in range(3000))
    (tmp_path / "data.csv").write_text("a,b,y\n" + rows)
    command = [sys.executable, "-m", "symloss", "fit", "data.csv", "--label", "y", "--out", "model", "--jobs", "2"]
    with (tmp_path / "out.txt").open("w") as out:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out, start_new_session=True)
        end = time.monotonic() + 60
        while len(alive_in(process.pid)) < 4 and time.monotonic() < end:  # two trackers and two workers, which import
            time.sleep(0.05)
        time.sleep(0.3)
        before = (tmp_path / "out.txt").read_text()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(timeout=30) == 130
    said = (tmp_path / "out.txt").read_text().removeprefix(before).splitlines()
    assert said.count("symloss: interrupted") == 1
    assert all(line.startswith(("symloss: interrupted", "Scoring")) for line in said)
    end = time.monotonic() + 10
    while alive_in(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert alive_in(process.pid) == []
    assert not (tmp_path / "model").exists()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no signals of this kind")
def test_an_interrupt_while_pytorch_is_imported_is_one_line():
    command = [sys.executable, "-X", "importtime", "-m", "symloss", "losses"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for line in process.stderr:
        if "torch" in line:
            break
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert not output
    said = [line for line in errors.splitlines() if not line.startswith("import time")]
    assert said == ["symloss: interrupted"]


@pytest.mark.slow
def test_report_and_explore_write_one_file(tmp_path):
    write_run(tmp_path / "results", OWN)
    result = run("report", str(tmp_path / "results"), "--out", str(tmp_path / "report.html"))
    assert result.exit_code == 0
    assert "90.5 (0.5)" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "wrote" in result.stdout
    result = run("explore", "--losses", "ramp", "--out", str(tmp_path / "explorer.html"))
    assert result.exit_code == 0
    assert "Ramp" in (tmp_path / "explorer.html").read_text(encoding="utf-8")


def test_report_and_explore_fail_in_one_line_and_write_nothing(tmp_path):
    for arguments in (["report", str(tmp_path / "nothing")], ["explore", "--losses", "nope"]):
        result = run(*arguments, "--out", str(tmp_path / "page.html"))
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_terminal_without_greek():
    code = "from symloss.cli import app; import sys; sys.argv = ['symloss', 'losses']; app()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert result.returncode == 0
    assert b"Sigmoid" in result.stdout
