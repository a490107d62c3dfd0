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
# Runs maturin; what it says is shown only if it fails.
quietly = $(PYTHON) -m maturin $(1) --quiet >$(LOGS)/maturin.log 2>&1 || { cat $(LOGS)/maturin.log; exit 1; }
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: demo
demo: build ## a graph, on SSD and in memory, in one table
	@$(PYTHON) scripts/demo.py $(DEMO)

.PHONY: test
test: lint build test-rust test-python ## every check and test; NAKSHI_TEST_SCALE=10 for the long way
	@cargo xtask tally $(LOGS)/rust.log $(LOGS)/python.log

.PHONY: build
build: $(VENV)/.installed $(LOGS) ## the Python package with its compiled half, into .venv
	@$(call quietly,develop $(PROFILE))
	@$(call quietly,generate-stubs --profile release --out python)

.PHONY: test-rust
test-rust: $(LOGS) ## unit, property and fault tests of the crates
	@cargo test $(PROFILE) --workspace 2>&1 | tee $(LOGS)/rust.log

.PHONY: test-python
test-python: build $(LOGS) ## the package, the CLI, whole-process faults, the README
	@$(PYTHON) -m pytest tests python/tests $(PYTEST) 2>&1 | tee $(LOGS)/python.log

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
	@$(PYTHON) bench/papers/run.py $(BENCH)

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
wheel: $(VENV)/.installed ## an abi3 wheel in dist/
	@$(PYTHON) -m maturin build $(PROFILE) --generate-stubs --out dist

.PHONY: clean
clean: ## remove the venv and everything built
	@rm -rf $(VENV) $(TARGET) dist

$(LOGS):
	@mkdir -p $@

$(VENV)/.installed: tests/requirements.txt
	@scripts/need
	@python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement tests/requirements.txt
	@touch $@
