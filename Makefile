# make demo: see it work.  make test: linters, types and the whole test suite.  Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test clean

demo: .venv/installed
	$(BIN)/magic-pomdp demo

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 --dist worksteal -m jit_off

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[all]'
	touch $@

clean:
	rm -rf .venv
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
