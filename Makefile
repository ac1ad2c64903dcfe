# The whole command surface. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
UV := .tools/uv/bin/uv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Without make's flags: rustc warns of a job server that only make's own children reach.
ALONE := MAKEFLAGS=
CARGO := $(ALONE) cargo
# tests/support/scheduling.py assigns tests to workers. What one of them has compiled, others read,
# also where PYTHONDONTWRITEBYTECODE is set: pytest's own compiling takes longer than Python's.
PYTEST := $(ALONE) PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n auto --maxprocesses 4
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo serve test test-rust test-web test-jvm test-long test-daily test-spark-suites check lint lint-rust lint-types lint-python lint-web wheel release audit torture bench curves verdicts faults docs screenshots studies locks clean system-packages

help: ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s $$'\t'

$(UV): requirements-uv.lock
	$(PYTHON) -m venv .tools/uv
	.tools/uv/bin/python -m pip install --quiet --require-hashes -r requirements-uv.lock
	@touch $(UV)

$(VENV)/.synced: requirements-dev.lock $(UV)
	@test -x $(PY) || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip sync --quiet --compile-bytecode --python $(PY) --require-hashes requirements-dev.lock
	@rm -f $(VENV)/.installed
	@touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

WEB_PAGES := python/venturi/web/assets/page.js
WEB_SOURCES := $(shell find web/src -type f) $(wildcard web/*.json web/*.html web/*.config.ts)
$(WEB_PAGES): web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run --silent build
	@touch $@

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
JVM_SOURCES := $(shell find jvm/tiered-storage jvm/task-names -name '*.java' -o -name pom.xml)
$(VENV)/.installed: $(VENV)/.synced $(WEB_PAGES) $(RUST_SOURCES) $(JVM_SOURCES) pyproject.toml
	$(ALONE) $(UV) pip install --quiet --compile-bytecode --python $(PY) --no-deps --no-build-isolation --reinstall-package venturi --editable .
	@touch $@

# The sources are not copied into .venv, so that nothing compiles them where PYTHONDONTWRITEBYTECODE is set.
setup: $(VENV)/.installed ## Install everything into this folder (.venv, target, web/node_modules)
	@$(PY) -m compileall -q python/venturi

demo: setup ## Run the main job: measure this machine, sort on it, record it, price it
	$(VENV)/bin/venturi quickstart

serve: setup ## Serve the repository as web pages on this machine
	$(VENV)/bin/venturi serve

system-packages:
	@scripts/system-packages.sh

# Independent targets beside each other, each with its output in one piece.
LINT := lint-rust lint-types lint-python lint-web
BESIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=$(SYNC)
SYNC := target

test: system-packages ## Run every test (as root on Debian it installs packages, and says so)
	@$(BESIDE) setup test-rust test-web test-jvm .tools/docs/.synced
	$(PYTEST) --durations 15 -m "not (long or release)"

# The tests say how far they are.
check: SYNC := none
check: setup ## For daily work: lint, and the tests without engines, browser and what takes long
	@$(BESIDE) test-daily test-rust test-web $(LINT)

test-rust:
	$(CARGO) test --locked --profile tested --workspace --quiet

test-web: web/node_modules/.package-lock.json
	cd web && npm run --silent test

test-jvm:
	@if command -v mvn > /dev/null; then mvn --quiet --batch-mode --file jvm/tiered-storage/pom.xml test; \
	else echo "test-jvm: skipped, there is no Maven (Debian package maven)"; fi

test-spark-suites: setup ## Run suites of Spark's own with the plugin of tiered storage and without, and compare: an hour
	$(PY) -u scripts/spark_suites.py $(if $(SPARK),--spark $(SPARK)) $(SUITES)

test-long: system-packages setup ## Run the tests that `make test` leaves out: second variants, five minutes
	$(PYTEST) --durations 15 -m long

test-daily:
	$(PYTEST) --durations 5 -m "not (long or release or slow or engines or browser)"

lint: setup ## Check format, types, imports, lengths, unused code and generated files
	@$(BESIDE) $(LINT)

lint-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --release --workspace --all-targets --quiet -- -D warnings

lint-types:
	$(PY) -m mypy

lint-python:
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports --no-logo
	$(PY) scripts/budgets.py
	$(PY) scripts/host_calls.py
	$(PY) scripts/engine_names.py
	$(PY) scripts/prose
	$(PY) scripts/rust_circles.py
# Without fields: pages and JSON show them.
	set -o pipefail; { $(VENV)/bin/vulture || test $$? = 3; } | { ! grep -v "unused variable '[a-z]"; }
	$(PY) scripts/generated.py --check
	$(PY) scripts/notices.py --check

lint-web:
	cd web && npm run --silent lint

# What makes a release is not part of `make setup`: its C compiler for old systems alone is 400 MB.
RELEASE := .tools/release
$(RELEASE)/.synced: requirements-release.lock $(UV)
	@test -x $(RELEASE)/bin/python || $(UV) venv --quiet --python $(PYTHON) $(RELEASE)
	$(UV) pip sync --quiet --python $(RELEASE)/bin/python --require-hashes requirements-release.lock
	@touch $@

BILLS := $(CURDIR)/.tools/bills/venturi.python.cdx.json $(CURDIR)/.tools/bills/venturi.pages.cdx.json
wheel: $(RELEASE)/.synced ## Write a source distribution, and from it a wheel for any Linux, into dist/
	@rm -rf dist
	@$(RELEASE)/bin/python scripts/bills.py .tools/bills
	PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" CARGO_TARGET_DIR="$(CURDIR)/target" MATURIN_PEP517_ARGS="--zig --compatibility manylinux_2_17 $(BILLS:%=--sbom-include=%)" \
		$(UV) build --quiet --no-build-isolation --python $(RELEASE)/bin/python --out-dir dist
	@$(RELEASE)/bin/python scripts/check_dist.py dist

release: setup $(RELEASE)/.synced ## Rehearse a release: obstacles, wheel, its tests (SKIP_TESTS=1 skips them), bills of materials; TAG=1 makes the tag
	@$(RELEASE)/bin/python scripts/release.py $(if $(TAG),--tag) $(if $(SKIP_TESTS),--skip-tests)

.tools/audit/.synced: requirements-audit.lock $(UV)
	@test -x .tools/audit/bin/python || $(UV) venv --quiet --python $(PYTHON) .tools/audit
	$(UV) pip sync --quiet --python .tools/audit/bin/python --require-hashes requirements-audit.lock
	@touch $@

CARGO_DENY := 0.20.2
.tools/cargo/deny-$(CARGO_DENY):
	$(CARGO) install --quiet --locked --root .tools/cargo cargo-deny --version $(CARGO_DENY)
	@touch $@

# Compiling cargo-deny takes minutes, once.
audit: .tools/audit/.synced .tools/cargo/deny-$(CARGO_DENY) ## Ask what is known of the packages used: vulnerabilities, licences; says what could not be asked
	@$(PY) scripts/audit.py

torture: setup ## Kills, failing calls and hostile input by the thousand: takes hours
	@scripts/system-packages.sh
	$(PY) -m torture --write

bench: setup ## Measure Venturi beside its peers and the physical limit, interleaved
	@scripts/system-packages.sh bench
	$(UV) pip install --quiet --python $(PY) --require-hashes -r requirements-bench.lock
	$(PY) -m benchmarks

# Where public tables are; the tests look there too.
VENTURI_TEST_DATASETS ?= ../shared/datasets
curves: setup ## Foretell points left out of public and simulated curves (docs/method/scaling-fits.md)
	$(PY) -m benchmarks.models.curves $(VENTURI_TEST_DATASETS)

verdicts: setup ## Count wrong verdicts of simulated pairs of groups (docs/method/statistics.md)
	$(PY) -m benchmarks.models.verdicts

.tools/spark-3.5/.installed: $(UV)
	$(UV) pip install --quiet --python $(PY) --target .tools/spark-3.5 pyspark==3.5.9
	@touch $@

faults: setup .tools/spark-3.5/.installed ## Plant causes in Spark programs and compare what is found (docs/studies/diagnosis.md)
	$(PY) -m benchmarks.diagnosis $(NAMES) --spark .tools/spark-3.5 --results benchmarks/diagnosis/results.json --page docs/studies/diagnosis.md

generated: setup ## Write the generated files anew (schema, reference pages)
	$(PY) scripts/generated.py
	$(PY) scripts/notices.py

.tools/docs/.synced: requirements-docs.lock $(UV)
	@test -x .tools/docs/bin/python || $(UV) venv --quiet --python $(PYTHON) .tools/docs
	$(UV) pip sync --quiet --python .tools/docs/bin/python --require-hashes requirements-docs.lock
	@touch $@

docs: .tools/docs/.synced ## Write the documentation as a site that opens without a server: site/index.html
	NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --strict

screenshots: setup system-packages ## Take the pictures of the documentation anew, of what it measures here
	$(PY) scripts/screenshots.py

studies: setup ## Write the results of the studies that VENTURI_HOME has into their pages, and draw them
	$(PY) scripts/studies.py
	$(PY) scripts/study_table2.py $(VENTURI_TEST_DATASETS)/aloja_dataset4.csv

locks: $(UV) ## Write the lock files anew
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal requirements-uv.in -o requirements-uv.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal pyproject.toml -o requirements.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal --group release -c requirements-dev.lock -o requirements-release.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal --group bench -c requirements-dev.lock -o requirements-bench.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal --group docs -o requirements-docs.lock
	$(UV) pip compile --quiet --generate-hashes --no-annotate --universal --group audit -o requirements-audit.lock

clean: ## Remove what the other commands made
	rm -rf target .venv .tools dist site web/node_modules python/venturi/web/assets/{*.js,*.css,app} report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
