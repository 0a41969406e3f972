# make demo: see it work.  make test: linters, types and the whole test suite.  make docs: the documentation, in site/.
# All set up .venv first: the demo with what it needs, the others with everything.
PYTHON ?= python3
BIN := .venv/bin

# what is imported is compiled once, not in every process again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test docs linters plain scripts clean

demo: .venv/shown
	$(BIN)/magic-pomdp demo
	@echo "To have the command magic-pomdp here: . $(BIN)/activate"

docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation: site/index.html"

# linters and types take one core, tests in plain Python another; then all tests take both
test: .venv/installed
	@echo "Linters, types and the tests of plain Python come first; that takes a minute or two."
	@$(MAKE) --no-print-directory -j 2 --output-sync=target linters plain
	$(BIN)/pytest -n 2 --dist worksteal

linters: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory scripts; \
	else echo "The pages' scripts are not checked: npm is not installed."; fi
	$(BIN)/mypy

plain: .venv/installed
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 --dist worksteal -m jit_off $$(grep -lr --include='test_*.py' jit_off tests)

# what is used, Python compiles when it is
.venv/shown: pyproject.toml
	@echo "Installing into .venv: 0.6 GB."
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --no-compile --editable '.[show]'
	@touch $@

.venv/installed: .venv/shown
	@echo "Installing all extras into .venv: 2.9 GB in all; that takes some minutes."
	@$(BIN)/pip install --quiet --no-compile --editable '.[all]'
	@touch $@

scripts: node_modules/installed
	npm run --silent check

node_modules/installed: package-lock.json
	npm ci --no-audit --no-fund
	touch $@

clean:
	rm -rf .venv node_modules site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
