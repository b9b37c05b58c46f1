# Every target installs what it needs into .venv, in the versions that constraints.txt fixes.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# One process per core, but at most eight; each has one thread unless OMP_NUM_THREADS says otherwise.
PYTEST = $(BIN)/python -m pytest -q -n auto --maxprocesses=8 --dist=worksteal

.PHONY: demo tables test test-slow test-processors test-pages test-clusters test-latex test-gpu lint format lines bench docs dist clean help
.DELETE_ON_ERROR:

help:
	@echo "make demo   wrong labels in a table, models that learn from noisy labels, losses, the paper on two data sets (into demo/)"
	@echo "make test   the tests        make test-slow        tests that take longer"
	@echo "                             make test-processors  the tests, rounded as on another processor"
	@echo "                             make test-pages       tests that open pages in Chromium"
	@echo "                             make test-clusters    tests on local clusters of Dask and Ray"
	@echo "                             make test-latex       tests that compile tables with pdflatex"
	@echo "                             make test-gpu         tests that need a CUDA device"
	@echo "make lint   ruff and mypy    make format    ruff's formatter"
	@echo "make tables tables that compare the committed results with the paper (into results/)"
	@echo "make lines  lines of each room, now and before it was halved"
	@echo "make bench  benchmarks       make docs      the documentation (docs/_build/html)"
	@echo "make dist   wheel and sdist, tested in a new environment without extras and with all of them"
	@echo "make clean  remove everything that make has created"

$(VENV)/.core: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once, a minute or two)"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[all]"
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(INSTALL) -e ".[test,lint]"
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) -e ".[docs]"
	@touch $@

# A table of 569 tumors; 10% of the malignant and 20% of the benign ones get the wrong label.
A_TABLE = import numpy as np, sklearn.datasets, symloss as sl; found = sklearn.datasets.load_breast_cancer(as_frame=True); \
  malignant = sl.flip_labels(1 - found.target.to_numpy(), rate_positive=0.1, rate_negative=0.2, random_state=0) > 0; \
  found.data.assign(tumor=np.where(malignant, "malignant", "benign")).to_csv("demo/tumors.csv", index=False)

demo: $(VENV)/.core
	@mkdir -p demo
	$(BIN)/python -c '$(A_TABLE)'
	$(BIN)/symloss fit demo/tumors.csv --label tumor --out demo/model
	$(BIN)/python examples/noisy_labels.py demo/noisy_labels.png
	$(BIN)/python examples/corrupted_labels.py
	$(BIN)/symloss losses
	$(BIN)/symloss analyze barrier_hinge
	$(BIN)/symloss figures --out demo
	$(BIN)/symloss reproduce uci --datasets twonorm,waveform --trials 3 --no-download --out demo/results
	$(BIN)/symloss compare demo/results --figures demo
	$(BIN)/symloss report demo/results --out demo/report.html
	@echo "open demo/model/report.html: wrong labels in a table; open demo/report.html: the paper's scores and ours"

test: $(VENV)/.test
	$(PYTEST) -m "not gpu and not cluster and not browser and not slow"

test-slow: $(VENV)/.test
	$(PYTEST) -m "slow and not gpu and not cluster and not browser"

# PyTorch, MKL and OpenBLAS compute as on another x86 processor.
test-processors: $(VENV)/.test
	ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell $(PYTEST) -m "not gpu and not cluster and not browser and not slow"

test-pages: $(VENV)/.test
	$(BIN)/python -m pytest -q -m browser tests/test_report.py tests/test_tables.py

test-clusters: $(VENV)/.test
	$(BIN)/python -m pytest -q -m cluster tests/test_machines.py

test-latex: $(VENV)/.test
	@command -v pdflatex > /dev/null || \
	  { echo "pdflatex is missing: apt-get install texlive-latex-base texlive-latex-recommended" >&2; exit 1; }
	$(BIN)/python -m pytest -q tests/test_paper.py -k latex

test-gpu: $(VENV)/.test
	$(BIN)/python -m pytest -q -m gpu

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The comparison of each committed run with the paper, as files beside its scores.
tables: $(VENV)/.core
	for run in uci-matched uci-printed uci-further cifar10 mnist-matched mnist-printed; do \
	  $(BIN)/symloss compare results/$$run --csv results/$$run/compared.csv --markdown results/$$run/tables.md > /dev/null || exit 1; \
	done
	for run in cifar10 mnist-matched; do for way in dropout_off chosen_epoch; do \
	  $(BIN)/symloss compare results/$$run --scores $$way --markdown results/$$run/tables_$$way.md > /dev/null || exit 1; \
	done; done

lines: $(VENV)/.core
	$(BIN)/python benchmarks/lines.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/pairwise.py run
	$(BIN)/python -m benchmarks.seconds

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

TRY = .venv-dist/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
WITHOUT_EXTRAS = import symloss as sl; print(sl.AUCLoss()); drawn = sl.datasets.make_twonorm(200, random_state=0); \
  print(sl.AUCClassifierCV(random_state=0).fit(drawn.data, drawn.target).members_[0].name)

dist: $(VENV)/.core
	rm -rf dist .venv-dist
	$(INSTALL) build
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv .venv-dist
	$(TRY) dist/*.whl
	cd dist && ../.venv-dist/bin/python -c "$(WITHOUT_EXTRAS)" && ! ../.venv-dist/bin/symloss losses
	$(TRY) "$$(echo dist/*.whl)[all]"
	cd dist && ../.venv-dist/bin/symloss losses && ../.venv-dist/bin/python -c "import symloss as sl; print(sl.theory.analyze('ramp'))"
	rm -rf .venv-dist

clean:
	rm -rf $(VENV) .venv-dist dist demo docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
