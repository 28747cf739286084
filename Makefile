# Every target sets itself up: `make demo` and `make test` are all a fresh clone needs.
# A folder with the public data sets beside the checkout is used when it is there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export SHOAL_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test golden lowest search fuzz tools check bench site screenshots format clean

demo: $(READY)
	@$(BIN)/shoal demo

test: $(READY) tools
	$(BIN)/pytest -n 2 --dist loadgroup

# What some 250 calls say and write, kept anew in tests/golden/expected; the diff shows what changed.
golden: $(READY)
	SHOAL_GOLDEN=write $(BIN)/pytest -q -n 2 tests/golden

# A walk through the product with the oldest dependencies that pyproject.toml allows, in an environment of its own.
lowest:
	$(PYTHON) scripts/lowest.py

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
	rm -rf $(VENV) .lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis shoal-demo site

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "python3-venv is missing; installing it (apt-get)" >&2; \
	  SUDO=$$(test "$$(id -u)" = 0 || echo sudo); $$SUDO apt-get update -q && $$SUDO apt-get install -yq python3-venv; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
