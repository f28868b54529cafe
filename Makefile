# The front door of the project: `make demo` shows it, `make test` proves it.
#
# Every target that needs Python sets up its own environment first, once. What it needs is
# Python 3.11 or newer with its venv module, make, and PyPI (or a mirror that pip knows).
# Choose another interpreter or place with: make PYTHON=python3.12 VENV=/tmp/venv test

PYTHON ?= python3
VENV ?= .venv
TOOLS := $(VENV)/bin
READY := $(VENV)/.ready

# Processes that run the tests: half as many again as there are CPUs, because a third of the time
# most of them wait, for programs and for agents.
JOBS ?= $(shell echo $$((($$(nproc 2>/dev/null || echo 2) * 3 + 1) / 2)))
CRASHES ?= 500
PYTEST := $(TOOLS)/python -m pytest
# pytest-benchmark warns when it meets xdist; timed tests are in `make bench` alone.
PARALLEL := -n $(JOBS) --benchmark-disable

# Of the rooms without effects every branch is to be covered, of the others 90 %.
PURE := core wording insight/decision_notes.py insight/maps insight/lint insight/state \
  insight/simulate insight/explain insight/upgrade insight/fleet \
  insight/scheduling insight/rejections shared/kubernetes agent/kubelet agent/telemetry \
  drawing
comma := ,
empty :=
space := $(empty) $(empty)
PURE_FILES := $(subst $(space),$(comma),$(foreach room,$(PURE),src/numalet/$(room)$(if $(filter %.py,$(room)),,/*)))

# Tests start hundreds of interpreters: each would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup constraints hooks demo fmt lint types test property conformance cover sample thorough bench
.PHONY: oracle oracle-test record differential rival
.PHONY: schemas docs pictures protos check crash soak lab cluster cluster-large kubelet image image-test browser systems clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{printf "%-14s %s\n", $$1, $$2}'

setup: $(READY)  ## the environment, made once

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11, or missing: say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) can not make environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(TOOLS)/python || $(PYTHON) -m venv $(VENV)
	$(TOOLS)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(TOOLS)/python -m pip install --quiet --editable '.[agent,cluster]' --group dev --constraint constraints.txt
	@touch $@

# What the checks passed with last, so that a library's new release fails nobody's checks by surprise.
constraints: $(READY)  ## the newest release of every library into .venv and constraints.txt; then say make check
	$(TOOLS)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[agent,cluster]' --group dev --group docs
	$(TOOLS)/python -m pip freeze --exclude-editable > constraints.txt
	@touch $(READY)

hooks: $(READY)  ## run the quick checks at every git commit
	$(TOOLS)/pre-commit install --hook-type pre-commit --hook-type pre-push

demo: $(READY)  ## the documented example, then programs pinned on this machine
	@NUMALET=$(TOOLS)/numalet examples/demo.sh

fmt: $(READY)  ## format, and fix what ruff can fix
	$(TOOLS)/ruff format .
	$(TOOLS)/ruff check --fix .

lint: $(READY)  ## style, spelling, floors
	$(TOOLS)/ruff check .
	$(TOOLS)/ruff format --check .
	$(TOOLS)/codespell
	$(TOOLS)/lint-imports

types: $(READY)  ## mypy, strict, tests included
	$(TOOLS)/mypy

# Left to `make check`: the rules that sources and pages keep, servers, programs and clients that
# really run, laws on drawn cases, real machines.
LONG := tests/architecture tests/integration tests/property tests/machines tests/servers \
  tests/agent/test_front_door.py tests/agent/test_node_over_time.py

test: $(READY)  ## the tests of decisions, documents, commands and agents, in minutes
	$(PYTEST) $(PARALLEL) -m "not slow" $(addprefix --ignore=,$(LONG))

property: $(READY)  ## only the laws on generated input
	$(PYTEST) $(PARALLEL) -m property

conformance: $(READY)  ## only the recorded decisions of a kubelet
	$(PYTEST) $(PARALLEL) tests/conformance

# All tests, each of them once, those of `make test` too. tests/harness/measurement.py says which count.
cover: $(READY)  ## the whole suite; branch coverage is 100 % where there are no effects, else 90 %
	$(TOOLS)/coverage erase
	$(TOOLS)/coverage run -m pytest $(PARALLEL)
	$(TOOLS)/coverage combine --quiet
	@echo "--- without effects"
	$(TOOLS)/coverage report --fail-under=100 --include='$(PURE_FILES)'
	@echo "--- the others"
	$(TOOLS)/coverage report --fail-under=90 --omit='$(PURE_FILES)'

# The managers of a real kubelet, as a Go program. Only these targets need Go and its module proxy.
RELEASE ?= 1.37.2
SECONDS ?= 60
ORACLES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/numalet/oracle

oracle:  ## the recorder of a kubelet's decisions, into the cache; RELEASE=1.37.2
	@mkdir -p $(ORACLES)/$(RELEASE)
	oracle/build $(RELEASE) $(ORACLES)/$(RELEASE)/oracle
	@$(ORACLES)/$(RELEASE)/oracle version

oracle-test:  ## go vet and go test of the oracle; RELEASE=1.37.2
	oracle/check $(RELEASE)

record: $(READY)  ## what a release decides in the known scenarios, compared with the release before
	PYTHONPATH=tests $(TOOLS)/python -m differential.record $(RELEASE) $(if $(INPUTS),--inputs $(INPUTS))

differential: $(READY)  ## random scenarios: numalet against the oracle; RELEASE=1.37.2 SECONDS=60 SEED=N
	PYTHONPATH=tests $(TOOLS)/python -m differential.run $(RELEASE) --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

# NUMALET_CRASH_SEED chooses other manifests and other moments.
crash: $(READY)  ## kill agents 500 times (CRASHES=N) wherever they touch the world
	NUMALET_CRASHES=$(CRASHES) $(PYTEST) -q tests/agent/test_crashes.py

# One after the other, because rates are promised: about 70 seconds on two cores.
soak: $(READY)  ## restart a device plugin 100 times; 1,000 List calls a second for 30 s
	NUMALET_PLUGIN_RESTARTS=100 NUMALET_LIST_SECONDS=30 $(PYTEST) -q --benchmark-disable \
	  tests/agent/test_plugin_restarts.py tests/servers/test_list_rate.py

# Guests have one thread each and wait at times, so three at a time fill two cores; the longest begin
# first. What Python compiled here is not compiled again in every guest.
lab: $(READY)  ## boot guests with QEMU and test in them, on real kernels
	$(TOOLS)/python -m compileall -q src tests/harness tests/lab tests/running
	NUMALET_LAB=1 $(PYTEST) $(PARALLEL) --maxschedchunk 1 -m "not large" tests/lab

# What these tests ask of a fake server too, `make cover` asks. Each wait has a limit of its own, so
# the limit of a whole test is long.
# Other servers: make cluster BIN=FOLDER-WITH-THE-PROGRAMS, for example of `.ci/control-plane 1.34.9`.
CONTROL_PLANE = $(if $(BIN),$(abspath $(BIN)),$$(.ci/control-plane))
CLUSTER = folder=$(CONTROL_PLANE) && NUMALET_CONTROL_PLANE=$$folder NUMALET_CLUSTER=1 $(PYTEST) -n 0 \
  --benchmark-disable --timeout 900 tests/cluster

cluster: $(READY)  ## the tests against a real API server, scheduler and controllers; BIN=FOLDER has them
	$(CLUSTER) -m "not large" -k "not fake"

cluster-large: $(READY)  ## the same with thousands of nodes, for the figures in the documentation
	$(CLUSTER) -m large

# As root. Kernel settings, mounts and processes of the kubelet are seen in no other process.
kubelet: $(READY)  ## a real kubelet 1.37 and an agent with the same pods: state, PodResources, metrics
	control=$(CONTROL_PLANE) && runtime=$$(.ci/container-runtime) \
	  && plugins=$$(.ci/container-runtime --suite trixie) && NUMALET_CONTROL_PLANE=$$control \
	  NUMALET_PLUGIN_RUNTIME=$$plugins NUMALET_CONTAINER_RUNTIME=$$runtime NUMALET_KUBELET=1 $(PYTEST) -n 0 --benchmark-disable \
	  --timeout 900 -m "not large" tests/kubelet

# Root, mmdebstrap and protoc; two builds from the same packages of Debian are the same.
IMAGE ?= build/numalet.oci.tar

image: $(READY)  ## the OCI image, from Debian's packages and our wheel: build/numalet.oci.tar
	rm -rf build/wheel
	$(TOOLS)/python -m hatchling build -t wheel -d build/wheel
	$(TOOLS)/python packaging/image/build.py --wheel build/wheel/*.whl --output $(IMAGE)

image-test: $(READY)  ## build the image twice and run it, with podman
	NUMALET_IMAGE=1 $(PYTEST) -n 0 --benchmark-disable tests/image

# One at a time, because a page promises to show a change within a second.
browser: $(READY)  ## the dashboard, files and drawings in a real Chromium
	NUMALET_BROWSER=1 $(PYTEST) -n 0 --benchmark-disable tests/browser

systems: $(READY)  ## plain pip with every release of Python, the core on later ones, a clean Debian 12; as root
	NUMALET_SYSTEMS=1 $(PYTEST) -n 2 --benchmark-disable tests/systems

# The merge and its searches against the kubelet's walk and the closed form, and how often a
# search is stopped. Both are random; the profile says how many cases, the seconds how many lives.
SCALE_TESTS := $(addprefix tests/property/test_,merging.py implicit_merging.py \
  implicit_searches.py bounded_answers.py)

sample: $(READY)  ## a minute of what `make thorough` does
	$(PYTEST) $(PARALLEL) -q --hypothesis-profile=sample --timeout=600 $(SCALE_TESTS)
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.bounded_rate --seconds 15

# Tests that draw a few of many cases in every run; here they try all of them.
DRAWING_TESTS := tests/agent/test_front_door.py tests/cli/test_demo.py \
  tests/cluster/test_follow_laws.py tests/conformance/test_mutations.py \
  tests/conformance/test_release_vectors.py tests/integration/test_open_api.py \
  tests/property/test_cpu_assignment.py

# Debian's own container runtime, and those of later releases: containerd 1.7 and 2.1.
RUNTIMES = own=$$(.ci/container-runtime) && trixie=$$(.ci/container-runtime --suite trixie) \
  && forky=$$(.ci/container-runtime --suite forky) \
  && export NUMALET_CONTAINER_RUNTIME=$$own NUMALET_PLUGIN_RUNTIME=$$trixie:$$forky

thorough: $(READY)  ## 20,000 cases of each law of merging, all of what is drawn, 20 minutes of searches
	$(PYTEST) $(PARALLEL) -q --hypothesis-profile=thorough --timeout=7200 $(SCALE_TESTS)
	NUMALET_THOROUGH=1 $(PYTEST) $(PARALLEL) -q --timeout=1200 $(DRAWING_TESTS)
	$(RUNTIMES) && NUMALET_LAB=1 NUMALET_THOROUGH=1 $(PYTEST) $(PARALLEL) -q --maxschedchunk 1 \
	  tests/lab/test_guests.py tests/lab/test_runtime_plugin.py
	control=$(CONTROL_PLANE) && $(RUNTIMES) && NUMALET_CONTROL_PLANE=$$control NUMALET_KUBELET=1 \
	  $(PYTEST) -n 0 -q --benchmark-disable tests/kubelet/test_kubelet_and_plugin.py tests/kubelet/test_runtime_plugin.py
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.bounded_rate --seconds 1200 --write

bench: $(READY)  ## how long things take, into docs/benchmarks.md; nothing is gated
	$(PYTEST) benchmarks --benchmark-sort=name
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.side_by_side $(RELEASE) --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.throughput --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.runtime_plugin --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.scale --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.fleet --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.extender --write
	PYTHONPATH=tests $(TOOLS)/python -m benchmarks.fleet_read --write

# SCHEDULER=FILE is kube-scheduler with NodeResourceTopologyMatch; SEEDS=18 are 5,000 pods.
rival: $(READY)  ## schedulers in a burst of pods, into docs/benchmarks.md; SCHEDULER=FILE is one more
	folder=$(CONTROL_PLANE) && PYTHONPATH=tests $(TOOLS)/python -m benchmarks.rival --bin $$folder \
	  $(if $(SCHEDULER),--scheduler $(abspath $(SCHEDULER))) --seeds $(or $(SEEDS),3) --write

schemas: $(READY)  ## write docs/schemas, the tables of generated pages and the manual again
	$(TOOLS)/python -m numalet.insight.output.schemas docs/schemas
	$(TOOLS)/python -m numalet.io.documents.pods.pod_table.page docs/reference/pod-manifests.md
	$(TOOLS)/python -m numalet.insight.output.reference_pages \
	  docs/reference/releases.md docs/reference/kubelet-files.md
	$(TOOLS)/python -m numalet.io.documents.cluster.custom_resources packaging/kubernetes/crds
	$(TOOLS)/python -m numalet.cli.manual packaging/man

$(VENV)/.docs-ready: $(READY)
	$(TOOLS)/python -m pip install --quiet --disable-pip-version-check --group docs --constraint constraints.txt
	@touch $@

pictures: $(READY)  ## draw the pictures of the documentation anew
	PYTHONPATH=tests $(TOOLS)/python -m running.pictures
	PYTHONPATH=tests $(TOOLS)/python -m running.notebooks
	PYTHONPATH=tests $(TOOLS)/python -m running.screenshots

# Nothing is fetched while it is built. Pages that are made from the code are in build/source.
docs: $(VENV)/.docs-ready  ## the documentation as a site with a search box: build/site/index.html
	PYTHONPATH=docs/_extensions $(TOOLS)/python -m site_source docs build/source
	$(TOOLS)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees build/source build/site

protos: $(READY)  ## write the message modules of the gRPC interfaces anew
	$(TOOLS)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src \
	  src/numalet/io/rpc/*.proto

# `make cover` runs all that `make test` runs, and what takes longer.
check: lint types cover  ## what continuous integration runs

clean:  ## remove what the targets made, the environment included
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis .benchmarks .demo build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
