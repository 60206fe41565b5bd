# Each target does its own set-up in .venv; nothing but python3, git and make is assumed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow lint torture bench claude docs dist clean

setup: .venv/installed

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -q -m 'not slow'

test-slow: setup
	$(BIN)/python -m pytest -n 6 --dist loadgroup --no-loadscope-reorder -q -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

demo: setup
	@$(BIN)/python demo/run.py

torture: setup
	@$(BIN)/python -m tests.torture --size $(or $(SIZE),1) $(PARTS)

bench: setup
	@$(BIN)/python -m tests.bench

claude: setup
	@$(BIN)/python -m tests.claude_code

docs: setup
	$(BIN)/python docs/build.py

dist: setup
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	@ls -l dist

clean:
	rm -rf .venv .venv-peers dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
