"""The attacks of ``attacks/``: commands on damaged files and odd command lines, and a few cases of each of the others.

An attack that finds a fault prints the number of its case, with which the case can be repeated alone.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import symloss as sl

ROOT = Path(sl.__file__).parents[2]
if not (ROOT / "attacks").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)


def attack(name, *options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", f"attacks.{name}", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "cases"), [("files", 600), ("files", 601), ("command_lines", 500)])
def test_commands_end_with_one_line(name, cases):
    result = attack(name, "--cases", cases, "--seed", cases)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{cases} cases, 0 faults" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cases", "seed"), [("engine", 500, 0), ("full_disk", 12, 0), ("pages", 6, 0), ("kills", 2, 0)]
)
def test_a_few_cases_of_each_attack(name, cases, seed):
    result = attack(name, "--cases", cases, "--seed", seed)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{cases} cases, 0 faults" in result.stdout


def test_a_fault_is_counted_and_can_be_repeated(tmp_path):
    (tmp_path / "broken.py").write_text(
        "from attacks.tally import attack\n"
        "attack('what is broken', lambda generator: ('kind', 'bad' if generator.random() < 0.1 else None), 50)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}

    def run(*options):
        return subprocess.run(
            [sys.executable, "-m", "broken", *options], capture_output=True, text=True, env=environment
        )

    result = run()
    assert result.returncode == 1
    assert "what is broken: 50 cases, " in result.stdout
    number = result.stderr.split("case ")[1].split(",")[0]
    again = run("--only", number)
    assert again.returncode == 1
    assert f"case {number}, --seed 0 (kind): bad" in again.stderr
