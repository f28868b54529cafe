# The front door of the project: `make demo` shows it, `make test` proves it.
#
# Every target that needs Python sets up its own environment first, once. What it needs is
# Python 3.11 or newer with its venv module, make, and PyPI (or a mirror that pip knows).
# Choose another interpreter or place with: make PYTHON=python3.12 VENV=/tmp/venv test

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Processes that run the tests; the suite is made of many small tests, so more is faster.
JOBS ?= auto
CRASHES ?= 500
PYTEST := $(BIN)/python -m pytest
# pytest-benchmark warns when it meets xdist; timed tests are in `make bench` alone.
PARALLEL := -n $(JOBS) --benchmark-disable

# Of the rooms without effects every branch is to be covered, of the others 90 %.
PURE := core wording insight/decision_notes.py insight/maps insight/lint insight/state \
  insight/simulate insight/explain agent/kubernetes agent/kubelet agent/telemetry
comma := ,
empty :=
space := $(empty) $(empty)
PURE_FILES := $(subst $(space),$(comma),$(foreach room,$(PURE),src/numalet/$(room)$(if $(filter %.py,$(room)),,/*)))

# Tests start hundreds of interpreters: each would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup hooks demo fmt lint types test property conformance cover sample thorough bench
.PHONY: schemas protos check crash soak lab clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{printf "%-12s %s\n", $$1, $$2}'

setup: $(READY)  ## the environment, made once

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11, or missing: say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) can not make environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[agent]' --group dev
	@touch $@

hooks: $(READY)  ## run the quick checks at every git commit
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

demo: $(READY)  ## the documented example, then programs pinned on this machine
	@NUMALET=$(BIN)/numalet examples/demo.sh

fmt: $(READY)  ## format, and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY)  ## style, spelling, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports

types: $(READY)  ## mypy, strict, tests included
	$(BIN)/mypy

# Left to `make check`: programs and clients that really run, laws on drawn cases, real machines.
LONG := tests/integration tests/property tests/machines tests/agent/test_front_door.py

test: $(READY)  ## the tests of decisions, documents, commands and agents, in minutes
	$(PYTEST) $(PARALLEL) -m "not slow" $(addprefix --ignore=,$(LONG))

property: $(READY)  ## only the laws on generated input
	$(PYTEST) $(PARALLEL) -m property

conformance: $(READY)  ## only the recorded decisions of a kubelet
	$(PYTEST) $(PARALLEL) tests/conformance

# All tests, each of them once, those of `make test` too. What slow tests and the recorded decisions
# cover does not count; tests/harness/measurement.py says why.
cover: $(READY)  ## the whole suite; branch coverage is 100 % where there are no effects, else 90 %
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL)
	$(BIN)/coverage combine --quiet
	@echo "--- without effects"
	$(BIN)/coverage report --fail-under=100 --include='$(PURE_FILES)'
	@echo "--- the others"
	$(BIN)/coverage report --fail-under=90 --omit='$(PURE_FILES)'

# NUMALET_CRASH_SEED chooses other manifests and other moments.
crash: $(READY)  ## kill agents 500 times (CRASHES=N) wherever they touch the world
	NUMALET_CRASHES=$(CRASHES) $(PYTEST) -q tests/agent/test_crashes.py

# One after the other, because rates are promised: about 70 seconds on two cores.
soak: $(READY)  ## restart a device plugin 100 times; 1,000 List calls a second for 30 s
	NUMALET_PLUGIN_RESTARTS=100 NUMALET_LIST_SECONDS=30 $(PYTEST) -q --benchmark-disable \
	  tests/agent/test_plugin_restarts.py tests/servers/test_list_rate.py

# Guests have one thread each, so two at a time fill two cores; the longest begin first.
lab: $(READY)  ## boot guests with QEMU and test in them, on real kernels
	NUMALET_LAB=1 $(PYTEST) -n 2 --maxschedchunk 1 --benchmark-disable tests/lab

# The merge and its searches against the kubelet's walk and the closed form, and how often a
# search is stopped. Both are random; the profile says how many cases, the seconds how many lives.
SCALE_TESTS := $(addprefix tests/property/test_,merging.py implicit_merging.py \
  implicit_searches.py bounded_answers.py)

sample: $(READY)  ## two minutes of what `make thorough` does
	$(PYTEST) $(PARALLEL) -q --hypothesis-profile=sample --timeout=600 $(SCALE_TESTS)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.bounded_rate --seconds 45

# Tests that draw a few of many cases in every run; here they try all of them.
DRAWING_TESTS := tests/agent/test_front_door.py tests/conformance/test_mutations.py \
  tests/integration/test_open_api.py tests/property/test_cpu_assignment.py

thorough: $(READY)  ## 20,000 cases of each law of merging, all of what is drawn, 20 minutes of searches
	$(PYTEST) $(PARALLEL) -q --hypothesis-profile=thorough --timeout=7200 $(SCALE_TESTS)
	NUMALET_THOROUGH=1 $(PYTEST) $(PARALLEL) -q --timeout=1200 $(DRAWING_TESTS)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.bounded_rate --seconds 1200 --write

bench: $(READY)  ## how long things take, into docs/benchmarks.md; nothing is gated
	$(PYTEST) benchmarks --benchmark-sort=name
	PYTHONPATH=tests $(BIN)/python -m benchmarks.scale --write

schemas: $(READY)  ## write docs/schemas and the tables of Pod fields anew
	$(BIN)/python -m numalet.insight.output.schemas docs/schemas
	$(BIN)/python -m numalet.io.documents.pod_table.page docs/reference/pod-manifests.md

protos: $(READY)  ## write the message modules of the gRPC interfaces anew
	$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src \
	  src/numalet/io/rpc/*.proto

# `make cover` runs all that `make test` runs, and what takes longer.
check: lint types cover sample  ## what continuous integration runs

clean:  ## remove what the targets made, the environment included
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis .benchmarks .demo build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
