# The tasks of a developer. `make help` lists them; the first two need nothing but git, Python >= 3.10 with venv, a C
# compiler and cargo. Stamp files in .venv say what is done, so that running a task again is quick.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WEB := rust/fasttl-core/web
STATIC := rust/fasttl-core/src/report/static

# One interpreter for every build, so that pyo3 is not configured anew by turns.
export PYO3_PYTHON := $(abspath $(BIN)/python)

# What goes into the extension: the front end's sources do not, its built files in $(STATIC) do.
RUST_SOURCES := $(shell find rust -path $(WEB) -prune -o -path rust/fuzz -prune -o -type f -print)

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-slow test-python lint lint-rust lint-python docs web bench bench-rust bench-smoke fmt clean

help: ## list the tasks
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

demo: $(VENV)/.built ## build fasttl and write the report of the example to out/demo
	@$(BIN)/fasttl examples/crash_3_ranks -o out/demo --overwrite --no-browser

test: test-rust test-python ## set up what is needed and run every test

test-rust: $(VENV)/.requirements
	INSTA_UPDATE=no cargo test --workspace --locked

test-slow: $(VENV)/.requirements ## run the Rust tests that take long
	cargo test --workspace --locked --lib -- --ignored

test-python: $(VENV)/.built
	$(BIN)/python -m pytest

lint: lint-rust lint-python ## check format, lints, types and docs

lint-rust: $(VENV)/.requirements
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

lint-python: $(VENV)/.built
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml fasttl._core

# Read from the sources alone, without the extension. A warning is an error, a link that leads nowhere among them.
docs: $(VENV)/.requirements ## build the site of the documents into out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo out/site/index.html

web: ## check, test and build the report's front end (needs Node)
	cd $(WEB) && npm ci && npm run check && npm test && npm run build

bench: $(VENV)/.built ## measure every budget, against tlparse and others (ten minutes)
	$(BIN)/python benches/compare.py

bench-rust: ## measure the steps of the Rust core, one by one
	cargo bench -p fasttl-core --locked

# In the profile of the tests, whose build it shares: each bench runs once, and none is measured.
bench-smoke: $(VENV)/.requirements ## run each bench of the Rust core once
	cargo test -p fasttl-core --bench core --locked

fmt: $(VENV)/.requirements ## format the code, and repair what the linters can
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove what the other tasks made
	rm -rf $(VENV) out target dist $(WEB)/node_modules
	find python -name '*.so' -delete

# The wheel is always a release build: demo, tests, benchmark and CI's sdist share it, and what is tested is what ships.
# Rust's own tests stay with the dev profile, whose overflow checks and quick linking they want.
$(VENV)/.built: $(VENV)/.requirements pyproject.toml Cargo.toml Cargo.lock $(RUST_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release
	@# As pip does with what it installs: otherwise a start compiles the package where PYTHONDONTWRITEBYTECODE is set.
	$(BIN)/python -m compileall -q python/fasttl
	@touch $@

$(VENV)/.requirements: requirements-dev.txt
	@command -v cargo >/dev/null || { echo "cargo not found: install Rust (https://rustup.rs)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "$(PYTHON) is older than Python 3.10: name another by make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
