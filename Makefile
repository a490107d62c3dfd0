# Everything starts here: `make demo` shows what Nakshi does, `make test` runs every check.
# Both build what they need, in .venv and target/ of this checkout, and change nothing outside it.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

VENV := $(CURDIR)/.venv
PYTHON := $(VENV)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
LOGS := $(TARGET)/logs
# One profile and one target directory for the tests, the demo, the benchmarks and the wheel.
PROFILE := --release
# Seconds after which a hanging test ends the run, which says where each thread stands.
TEST_TIMEOUT := $(shell expr 900 '*' $(or $(NAKSHI_TEST_SCALE),1))
# Files of Python tests that run at a time; most tests wait for processes that they started.
TEST_FILES := 2
# Tests of how soon something happens: they run when no others do.
TIMED := $(addprefix python/tests/,test_cypher.py test_interrupt.py test_interrupt_property.py) \
    $(addprefix tests/faults/,test_cluster_network.py test_interrupts.py test_running.py test_strangers.py)
# Runs files of Python tests; to find none is no failure, since PYTEST may select others.
pytest = $(PYTHON) -m pytest $(1) --timeout $(TEST_TIMEOUT) --timeout-method thread $(PYTEST) || [ $$? -eq 5 ]
# Runs maturin; what it says is shown only if it fails.
quietly = $(PYTHON) -m maturin $(1) --quiet >$(LOGS)/maturin.log 2>&1 || { cat $(LOGS)/maturin.log; exit 1; }
pip = $(PYTHON) -m pip install --quiet --disable-pip-version-check
export VIRTUAL_ENV := $(VENV)
# Tests start thousands of processes, each of which would compile the package's modules again.
export PYTHONDONTWRITEBYTECODE :=
export PATH := $(VENV)/bin:$(PATH)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: demo
demo: ## a graph, on SSD and in memory, in one table
	@echo "Nakshi's demo builds the Rust core once, which takes about five minutes on two cores, then"
	@echo "analyses a graph of 16 million edges in ten seconds. It changes nothing outside this folder."
	@$(MAKE) --no-print-directory compiled
	@$(PYTHON) scripts/demo.py $(DEMO)

.PHONY: compiled
compiled: $(VENV)/.builder
	@echo "Compiling the Rust core (cargo shows each crate) ..."
	@# The demo needs no server, whose libraries take a minute.
	@$(PYTHON) -m maturin develop $(PROFILE) --no-default-features

.PHONY: test
test: lint build test-rust test-python ## every check and test; NAKSHI_TEST_SCALE=10 for the long way
	@cargo xtask tally $(LOGS)/rust.log $(LOGS)/python.log

.PHONY: build
build: $(VENV)/.installed $(LOGS) ## the Python package with its compiled half, into .venv
	@echo "Compiling the Rust core (about five minutes the first time on two cores) ..."
	@$(call quietly,develop $(PROFILE))
	@$(call quietly,generate-stubs --profile release --out python)

.PHONY: methods
methods: build ## python/nakshi/methods.py, from the declarations of the algorithms
	@$(PYTHON) scripts/methods.py
	@$(PYTHON) -m ruff format --quiet python/nakshi/methods.py

.PHONY: test-rust
test-rust: $(LOGS) ## unit, property and fault tests of the crates
	@cargo test $(PROFILE) --workspace 2>&1 | tee $(LOGS)/rust.log

.PHONY: test-python
test-python: build $(LOGS) ## the package, the CLI, whole-process faults, the README
	@{ $(call pytest,tests python/tests $(TIMED:%=--ignore=%) --numprocesses $(TEST_FILES) --dist loadfile) && \
	    $(call pytest,$(TIMED)); } 2>&1 | tee $(LOGS)/python.log

.PHONY: drivers
drivers: build ## scenarios with Neo4j's drivers; writes docs/results/drivers.md (DRIVERS="--drivers go")
	@$(PYTHON) tests/drivers/run.py --out docs/results/drivers.md $(DRIVERS)

.PHONY: lint
lint: $(VENV)/.installed ## formatting, clippy, tidy, documentation, ruff, licences
	@cargo fmt --all --check
	@cargo xtask tidy
	@cargo clippy $(PROFILE) --workspace --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc $(PROFILE) --workspace --no-deps --quiet
	@$(PYTHON) -m ruff check --quiet .
	@scripts/audit deny

.PHONY: bench
bench: build ## comparison with other systems; writes docs/benchmarks.md (BENCH="--scale 18 ...")
	@$(PYTHON) bench/run.py $(BENCH)

.PHONY: bench-papers
bench-papers: build ## the figures of the FlashGraph paper, in kind; writes docs/results/
	@$(PYTHON) bench/papers/flashgraph.py $(BENCH)

.PHONY: bench-imports
bench-imports: build ## time and scratch files of imports at every budget
	@$(PYTHON) bench/imports.py $(BENCH)

.PHONY: bench-growth
bench-growth: build ## time per edge and memory per vertex while the graph grows
	@$(PYTHON) bench/growth.py $(BENCH)

.PHONY: deny audit
deny audit: ## licences and advisories of the dependencies (cargo-deny, cargo-audit)
	@scripts/audit $@

.PHONY: miri asan tsan fuzz
miri asan tsan fuzz: ## interpreters, sanitizers and fuzzing (nightly Rust)
	@scripts/sanitize $@

.PHONY: wheel
wheel: $(VENV)/.builder ## an abi3 wheel in dist/, without line tables
	@# The stubs come from the symbols, which the wheel does not have.
	@$(PYTHON) -m maturin generate-stubs --profile release --out python
	@$(PYTHON) -m maturin build $(PROFILE) --strip --out dist

.PHONY: clean
clean: ## remove the venv and everything built
	@rm -rf $(VENV) $(TARGET) dist

$(LOGS):
	@mkdir -p $@

# What compiles the package and runs it.
$(VENV)/.builder: scripts/requirements.txt
	@scripts/need
	@echo "Installing the Python packages that build Nakshi into .venv ..."
	@python3 -m venv $(VENV)
	@$(pip) --requirement scripts/requirements.txt
	@touch $@

# What the tests compare with and check by.
$(VENV)/.installed: tests/requirements.txt $(VENV)/.builder
	@echo "Installing the Python packages of the tests into .venv (about a minute) ..."
	@$(pip) --requirement tests/requirements.txt
	@touch $@
