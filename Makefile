# Every target sets itself up: `make demo` and `make test` are all a fresh clone needs. The demo installs Shoal alone, the others what
# development needs as well, in the versions of constraints.txt.
# A folder with the public data sets beside the checkout is used when it is there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export SHOAL_DATA ?= $(wildcard $(abspath ../shared/data))
# Without byte code every process compiles all that it imports, which takes longer than most of what it is started for.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test golden lowest newest lock image search fuzz tools check bench site screenshots format clean

demo: $(DEMO)
	@$(BIN)/shoal demo

test: $(READY) tools
	$(BIN)/pytest -n 2 --dist loadgroup

# What some 250 calls say and write, kept anew in tests/golden/expected; the diff shows what changed.
golden: $(READY)
	SHOAL_GOLDEN=write $(BIN)/pytest -q -n 2 tests/golden

# A walk through the product with the oldest or the newest dependencies that pyproject.toml allows, in an environment of its own.
lowest newest:
	$(PYTHON) scripts/versions.py $@

# The newest of everything into .venv, and what that is into constraints.txt: to be tested and committed.
lock: $(BIN)/python
	$(PIP) --upgrade --editable '.[dev]'
	$(BIN)/python scripts/versions.py lock
	@touch $(DEMO) $(READY)

image:
	docker build --tag shoal .

# Property tests with other examples each time, and more of them.
search: $(READY)
	SHOAL_EXAMPLES=search $(BIN)/pytest -n 2 --dist loadgroup -m hypothesis

# Files of every kind, changed at random, for FUZZ_SECONDS; FUZZ="--seed 1 --kind csv" says which.
FUZZ_SECONDS ?= 600
fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ)

# What tests start themselves.
tools:
	@scripts/bring initdb postgresql "the tests against a real server of databases"
	@scripts/bring chromium chromium "the tests in a browser"
	@scripts/bring nginx nginx-light "the tests of the app behind a reverse proxy"
	@scripts/bring java default-jre-headless "the tests on Spark"

check: $(READY)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py

bench: $(READY)
	$(BIN)/python benchmarks/run.py

site: $(READY)
	$(BIN)/python docs/build_site.py

# The pictures of docs/guide/app.md, taken by the journey through the demo.
screenshots: $(READY) tools
	SHOAL_SCREENSHOTS=docs/images $(BIN)/pytest -q -n 0 tests/app/test_journeys.py -k km

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .lowest .newest .pytest_cache .mypy_cache .ruff_cache .hypothesis shoal-demo site

# The demo imports a small part of what is installed: only that is turned into byte code, on the way.
$(DEMO): pyproject.toml | $(BIN)/python
	$(PIP) --no-compile --editable .
	@touch $@

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[dev]' || \
	  { echo "what constraints.txt asks for is not to be had here; taking what is" >&2; $(PIP) --editable '.[dev]'; }
	@touch $(DEMO) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "python3-venv is missing; installing it (apt-get)" >&2; \
	  SUDO=$$(test "$$(id -u)" = 0 || echo sudo); $$SUDO apt-get update -q && $$SUDO apt-get install -yq python3-venv; }
	$(PYTHON) -m venv $(VENV)
