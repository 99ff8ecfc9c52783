# make demo: run the demo.  make test: run the tests.  Both set up .venv the first time.
.PHONY: demo test check docs lock clean
BIN := .venv/bin
EXTRA :=

demo: .venv/ready
	@$(BIN)/freshet demo $(ARGS)

test: .venv/ready-dev check
	@sh tools/run-tests $(ARGS)

check: .venv/ready-dev
	@$(BIN)/ruff check src tests
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

.venv/ready: requirements.lock pyproject.toml tools/setup
	@sh tools/setup requirements.lock
	@touch $@

.venv/ready-dev: requirements-dev.lock pyproject.toml tools/setup
	@sh tools/setup requirements-dev.lock
	@touch $@ .venv/ready

docs: .venv/ready-docs
	@$(BIN)/python -m sphinx -E -W --keep-going -q -b html -d build/doctrees docs build/site
	@echo "build/site/index.html"

.venv/ready-docs: .venv/ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock --editable ".[docs]"
	@touch $@

lock:
	@uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url pyproject.toml -o requirements.lock
	@uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	@rm -rf .venv build dist demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
