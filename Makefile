# The two commands of the README are `make demo` and `make test`; everything else serves them.

PYTHON := .venv/bin/python
READY := .venv/.ready

.PHONY: help setup demo test lint bench docs clean

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

setup: $(READY) ## make .venv with everything in it; does nothing when it is up to date
	@$(PYTHON) -m compileall -q daemon client  # an environment may forbid Python to keep its bytecode by itself

$(READY): pyproject.toml .ci/setup
	bash .ci/setup
	touch $(READY)

demo: setup ## watch a folder (NOTES=path), search it, edit a note, find the edit
	NOTES="$(NOTES)" bash docs/demo/demo

test: setup ## all tests
	$(PYTHON) -m pytest $(ARGS)

lint: setup ## format, lint, types, layers
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: setup ## measure; prints one table
	$(PYTHON) benchmarks/run.py $(ARGS)

docs: setup ## write the generated documents anew
	$(PYTHON) -m groove_daemon.config.document docs
	$(PYTHON) -m groove_wire.reference > docs/protocol.md

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
