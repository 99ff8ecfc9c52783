# make demo: run the demo.  make test: run the quick tests.  make test-all: run all tests.
# Each sets up .venv the first time.
.PHONY: demo test test-all check docs wheel pure-wheel lock clean
BIN := .venv/bin

demo: .venv/ready
	@$(BIN)/freshet demo $(ARGS)

test: .venv/ready-dev check
	@sh tools/run-tests --quick $(ARGS)

test-all: .venv/ready-dev check
	@sh tools/run-tests $(ARGS)

check: .venv/ready-dev
	@$(BIN)/ruff check src tests benchmarks examples
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
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock --editable ".[docs]"
	@touch $@

# With kernels compiled for this platform, Python and Numba.
wheel: .venv/ready
	@$(BIN)/python tools/compile-kernels build/kernels
	@FRESHET_PREBUILT_KERNELS=build/kernels $(BIN)/uv build --quiet --wheel --python $(BIN)/python --out-dir dist
	@ls dist/*.whl

# For every platform and Python: kernels are compiled at the user's.
pure-wheel: .venv/ready
	@$(BIN)/uv build --quiet --wheel --out-dir dist
	@ls dist/*.whl

lock: .venv/ready
	@$(BIN)/uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	@rm -rf .venv build dist demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
