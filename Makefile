# `make` alone lists the targets. A fresh machine needs Python 3.11 or newer, git and make.

PYTHON ?= python3
# Version of PyTorch. The CPU build is looked for in pip's own configuration, then in TORCH_INDEX;
# an empty TORCH_INDEX leaves that step out, and the plain package of the same version remains.
TORCH ?= 2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# Where `make nightly` and `make ui` keep their data.
HOME_DIR ?= .home

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
HOME_ABS := $(abspath $(HOME_DIR))
DAGSTER_DIR := $(HOME_ABS)/dagster

.DEFAULT_GOAL := help
.PHONY: help setup nightly ui test e2e lint bench crash clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## build .venv (downloads once; at once when nothing changed)
	@:

nightly: $(VENV)/.ready $(HOME_DIR)/ledgers $(DAGSTER_DIR)/dagster.yaml ## run the nightly job on the sample ledgers
	@DAGSTER_HOME=$(DAGSTER_DIR) $(BIN)/memory-assets nightly --ledgers $(HOME_DIR)/ledgers --home $(HOME_DIR)

ui: $(VENV)/.ready $(HOME_DIR)/ledgers $(DAGSTER_DIR)/dagster.yaml ## open the Dagster UI on the same home
	@DAGSTER_HOME=$(DAGSTER_DIR) MEMORY_ASSETS_HOME=$(HOME_ABS) \
	  MEMORY_ASSETS_LEDGERS=$(HOME_ABS)/ledgers $(BIN)/dagster dev --workspace workspace.yaml

test: $(VENV)/.ready ## run the test suite
	@$(BIN)/python -m pytest -q -n 2 -m "not e2e"

e2e: $(VENV)/.ready ## drive Dagster on PostgreSQL, and the pages in a browser
	@tests/e2e/install
	@$(BIN)/python -m pytest -q -m e2e tests

lint: $(VENV)/.ready ## ruff, mypy and the import contracts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/.ready ## measure nights, search, a year, merge and embedding (an hour; BENCH="--quick" or "--only merge")
	@$(BIN)/python -m tests.benches $(BENCH)

crash: $(VENV)/.ready ## kill publications at random and check what remains
	@$(BIN)/python -m tests.crash

clean: ## remove caches and the default home .home; .venv stays
	@rm -rf .home .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	@find memory_assets tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another one: make setup PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

# Torch comes first and alone: resolved with the rest, pip would take the much larger CUDA build.
$(VENV)/.torch-$(TORCH): | $(VENV)/bin/python
	@echo "Installing PyTorch $(TORCH) (CPU build preferred) ..."
	@$(PIP) install "torch==$(TORCH)+cpu" >/dev/null 2>&1 \
	  || { test -n "$(TORCH_INDEX)" \
	       && $(PIP) install --extra-index-url "$(TORCH_INDEX)" "torch==$(TORCH)+cpu" >/dev/null 2>&1; } \
	  || $(PIP) install "torch==$(TORCH)"
	@rm -f $(VENV)/.torch-* && touch $@

$(VENV)/.ready: pyproject.toml $(VENV)/.torch-$(TORCH)
	@echo "Installing memory-assets and its development tools ..."
	@$(PIP) install --editable '.[dev]'
	@touch $@

# The job writes companion files beside the ledgers, so it gets a copy of the samples.
$(HOME_DIR)/ledgers: | $(VENV)/.ready
	@$(BIN)/memory-assets samples $(HOME_DIR) >/dev/null

$(DAGSTER_DIR)/dagster.yaml: dagster.yaml
	@mkdir -p $(DAGSTER_DIR)
	@cp dagster.yaml $@
