# `make run` and `make test` need only Python, git and make; both set up .venv first.

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 3

.PHONY: help run test test-slow test-again test-agents check format lint types contracts bench screenshots movie docs wheel clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: .venv/ready ## Open the dashboard on a demo fleet
	$(BIN)/fleet-tui demo

test: .venv/ready ## Run the quick tests
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-slow: .venv/ready ## Run the slow tests: many repetitions of each fault, many examples of each property, the soak
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m 'slow or hypothesis' --hypothesis-profile thorough --timeout 1200

test-agents: .venv/ready ## Run the tests with real agent programs against a loopback API; installs them from npm
	$(BIN)/pytest -n $(JOBS) -m agents --timeout 600 -rs tests/real

test-again: .venv/ready ## Run the tests that failed last time again, one after another, and name them
	$(BIN)/pytest --last-failed --last-failed-no-failures none --snapshot-warn-unused $(SELECT)

check: format lint types contracts test ## Check everything that must pass before a commit

format: .venv/ready
	$(BIN)/ruff format --check .

lint: .venv/ready
	$(BIN)/ruff check .

types: .venv/ready
	$(BIN)/mypy

contracts: .venv/ready
	$(BIN)/lint-imports

bench: .venv/ready ## Measure the promised numbers, each beside a reference
	$(BIN)/python -m tests.bench

screenshots: .venv/ready ## Take the pictures of the README again
	$(BIN)/python -m tests.screenshots

movie: .venv/ready ## Record the moving picture of the README again
	$(BIN)/python -m tests.movie

docs: .venv/ready ## Write the generated parts of the documents: keys, decisions, imports between rooms
	$(BIN)/python -m tests.generated_docs

wheel: .venv/ready ## Build the wheel, install it into a clean environment and try it
	rm -rf dist build/wheel-test
	$(BIN)/python -m build --wheel --outdir dist .
	$(PYTHON) -m venv build/wheel-test
	build/wheel-test/bin/pip install --quiet dist/*.whl
	build/wheel-test/bin/fleet --version
	cd build && HOME=$$(pwd)/wheel-home wheel-test/bin/fleet list
	build/wheel-test/bin/python -I -c "import importlib.resources as r; assert any(r.files('fleet_tui').joinpath('styles').iterdir())"

# The package in editable form, with the development tools.
.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fleet-tui needs Python 3.11 or newer; say which one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

clean: ## Remove everything the targets above created
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
