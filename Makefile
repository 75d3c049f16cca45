# `make` lists the targets. Setting up needs python3 (3.11 or newer) and nothing else.

SHELL := /bin/sh
# The system's own comes first: every user can execute it, also one that root's servers run as.
PYTHON ?= $(shell for python in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v $$python && break; done)
BIN := .venv/bin
STAMP := .venv/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

# A question may hold quotes and dollar signs: it travels in the environment, unexpanded.
override QUESTION := $(value QUESTION)
export QUESTION

# CI runs the tests with tests.ci, which plays failed ones a second time.
RUNNER := pytest
# Most tests wait for processes of their own, so there are more processes than twice the processors
# (two of them: 525 s, with four processes 612 s). The order of the files is that of tests/order.py.
WORKERS := 5
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Tests of what measures, breaks and tests Heartbit; they say nothing of Heartbit itself.
RIGS := tests/bench tests/supply tests/continuous tests/mutants tests/chaos/test_planted.py
# Tests that try everything of a kind: each page with axe and with many rows, each route as each kind of
# person, each way out of the sandbox, each hostile edge. Beside the others they would take a minute.
AUDITS := tests/web/figures.py tests/web/test_admin_pages_agents.py tests/web/test_admin_pages_definitions.py \
	tests/web/test_admin_pages_installation.py tests/web/test_pages.py tests/web/test_viewer_pages.py \
	tests/web/test_query_counts.py tests/web/test_matrix.py tests/web/test_matrix_admin.py tests/web/test_matrix_doors.py \
	tests/web/test_schemathesis.py tests/tools/sandbox/test_battery.py tests/security \
	tests/chaos/test_parsers.py tests/chaos/test_replay.py tests/chaos/test_frozen_valkey.py \
	tests/config/test_positions.py tests/cli/test_environment.py tests/admin/test_untouched_forms.py \
	tests/docs/test_played.py tests/web/test_documents.py tests/patterns tests/base/test_linear.py
# Tests that read the sources and start nothing but a database.
SOURCES := tests/architecture

# Installs what is missing; `make test` goes on where somebody else has to, and skips what needs it.
SYSTEM := sh tests/system_packages.sh
OR_ELSEWHERE := || test $$? = 3

.DEFAULT_GOAL := help
.PHONY: help setup demo test collect rigs audits docs reference durations check lint sources wheel format lock chaos bench evals shots figures security supply advisories interop mutants

help: ## List the targets
	@sed -n 's/^\([a-z]*\):[^#]*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(STAMP) ## Install everything into .venv (again only when the lock has changed)

demo: $(STAMP) ## Three agents work at once on a real model; QUESTION="..." asks another question
	@$(BIN)/python -m heartbit_site.demo

test: $(STAMP) ## Run the tests; ARGS="-k name" for some, ARGS="-m local_model" for the real model's
	@$(SYSTEM) "tests of web pages" chromium-headless-shell $(OR_ELSEWHERE)
	$(BIN)/python -m $(RUNNER) $(PARALLEL) $(RIGS:%=--ignore=%) $(AUDITS:%=--ignore=%) $(SOURCES:%=--ignore=%) $(ARGS)

collect: $(STAMP) ## Compile all tests, which else each process of the first `make test` does for itself
	@found=$$($(BIN)/python -m pytest -q --collect-only) || { echo "$$found"; exit 1; }; \
	echo "$$found" | tail -n 1

rigs: $(STAMP) ## Run the tests of make bench, make mutants and make chaos, and of what plays tests
	$(BIN)/python -m $(RUNNER) $(PARALLEL) $(RIGS) $(ARGS)

audits: $(STAMP) ## Run the tests that try everything of a kind: pages, routes, forms, people, commands of the documents
	@$(SYSTEM) "tests of web pages" chromium-headless-shell $(OR_ELSEWHERE)
	$(BIN)/python -m $(RUNNER) $(PARALLEL) $(AUDITS) $(ARGS)

reference: $(STAMP) ## Write the pages of docs/reference from the code
	@$(BIN)/python -m tests.reference

docs: $(STAMP) ## Build the documentation site, which the web process serves at /docs/
	@$(BIN)/python -m heartbit_site.documents.build

durations: $(STAMP) ## Run the tests and store how long each file takes, for the order of make test
	$(BIN)/python -m pytest $(PARALLEL) --store-durations

check: lint sources ## Lint, format, types, layers, and the tests of the sources: words, dependencies, SQL functions

# Two targets, so that each has a processor in CI.
lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports

sources: $(STAMP)
	$(BIN)/python -m pytest -q $(SOURCES)

wheel: $(STAMP) ## Build the wheel, install it outside the checkout, and use it there
	@$(BIN)/python -m tests.wheel

format: $(STAMP) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: $(STAMP) ## Break things under load and count what is lost; ONLY=R1,R3 for some, SIZE=small
	@$(SYSTEM) "clocks that jump (R10)" libfaketime
	@$(BIN)/python -m tests.chaos $(if $(ONLY),--only $(ONLY)) $(if $(SIZE),--size $(SIZE)) $(ARGS)

soak: $(STAMP) ## Measure the rate, then load with half of it for SECONDS (3600) and fail when memory, connections, tables or latency grow
	@$(BIN)/python -m tests.chaos.soak $(if $(filter command line environment,$(origin SECONDS)),--seconds $(SECONDS)) $(ARGS)

bench: $(STAMP) ## Measure; ONLY=W1,W2 for some workloads
	@$(SYSTEM) "pages that are measured" chromium-headless-shell
	@$(BIN)/python -m tests.bench $(if $(ONLY),--only $(ONLY)) $(ARGS)

evals: $(STAMP) ## Measure recall, search, extraction and answers on labelled questions, and write build/evals.json
	@$(BIN)/python -m tests.evals

shots: $(STAMP) ## Take pictures of every page of a made-up workspace, into docs/images
	@$(SYSTEM) "pictures of pages" chromium-headless-shell
	@HEARTBIT_EXTRA_APPS=tests.web.shots $(BIN)/python -m pytest -q --timeout 300 tests/web/shots/take.py $(ARGS)

figures: $(STAMP) ## Measure what pages weigh and how soon they are of use, and write build/figures.json
	@$(SYSTEM) "pages that are measured" chromium-headless-shell
	@$(BIN)/python -m pytest -q tests/web/figures.py $(ARGS)

security: $(STAMP) ## Attack the parts that guard, and write build/security.json; ONLY=S4,S6 for some, FUZZ=600 for seconds of random system calls
	@$(BIN)/python -m tests.supply
	@$(if $(FUZZ),HEARTBIT_FUZZ_SECONDS=$(FUZZ)) $(BIN)/python -m tests.security $(if $(ONLY),--only $(ONLY))

supply: $(STAMP) ## Check the lock against the stored advisories, and write its bill of materials, build/sbom.json; takes no network
	@$(BIN)/python -m tests.supply

advisories: $(STAMP) ## Ask the package index about each pinned release, and store the answers with their date; ONLY=django,pillow for some
	@$(BIN)/python -m tests.supply --refresh $(ONLY)

interop: $(STAMP) ## Drive other people's MCP servers, and Heartbit with other people's clients; write build/interop.json
	@failed=0; for side in servers doors; do $(BIN)/python -m tests.interop.$$side || failed=1; done; exit $$failed

mutants: $(STAMP) ## Change the core a little and see that tests notice; ONLY=loop, SAMPLE=15
	@$(BIN)/python -m tests.mutants $(if $(ONLY),--only $(ONLY)) $(if $(SAMPLE),--sample $(SAMPLE)) $(ARGS)

lock: ## Pin all dependencies anew (needs uv)
	uv pip compile pyproject.toml --extra local --extra dev --group weights --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--quiet --output-file requirements.lock

$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { \
		echo "Heartbit needs Python 3.11 or newer: install it, or make PYTHON=/path/to/python3." >&2; \
		exit 1; }
	@PYTHON="$(PYTHON)" $(SYSTEM) "Python's virtual environments" python3-venv
	@$(SYSTEM) "the local model" libgomp1 $(OR_ELSEWHERE)
	@echo "Creating .venv with $(PYTHON) ..."
	@"$(PYTHON)" -m venv .venv
	@echo "Installing $$(grep -c '==' requirements.lock) packages (some minutes the first time) ..."
	@$(PIP) install --quiet --no-deps --no-build-isolation --require-hashes -r requirements.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Ready: $(BIN)/heartbit --help"
