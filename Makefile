# Every target sets itself up: `make demo` and `make test` are all a fresh clone needs.
# A folder with the public data sets beside the checkout is used when it is there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export SHOAL_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test postgresql check bench site format clean

demo: $(READY)
	@$(BIN)/shoal demo

test: $(READY) postgresql
	$(BIN)/pytest -n 2 --dist worksteal

# The tests of databases start a server of their own, from Debian's package. Where it may not be installed they are skipped.
postgresql:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  SUDO=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  command -v apt-get >/dev/null && $$SUDO true 2>/dev/null && { \
	    echo "postgresql is missing; installing it (apt-get)" >&2; \
	    $$SUDO apt-get update -q && $$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -yq postgresql; \
	  } || echo "postgresql is missing and cannot be installed here: the tests against a real server are skipped" >&2; }

check: $(READY)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/run.py

site: $(READY)
	$(BIN)/python docs/build_site.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis shoal-demo site

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "python3-venv is missing; installing it (apt-get)" >&2; \
	  SUDO=$$(test "$$(id -u)" = 0 || echo sudo); $$SUDO apt-get update -q && $$SUDO apt-get install -yq python3-venv; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
