# The README's two commands: `make demo` and `make test`. Both set up .venv first.
.DELETE_ON_ERROR:
.PHONY: setup demo test test-torch lint types trainers clean

PYTHON ?= python3
BIN := .venv/bin

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	$(BIN)/winnow assets fetch
	touch $@

demo: setup
	$(BIN)/winnow demo

# The libraries that training loops read exports with; torch is among them, so they have an environment of their own.
trainers: .cache/trainers/ready

.cache/trainers/ready: examples/requirements.txt
	$(PYTHON) -m venv .cache/trainers
	.cache/trainers/bin/python -m pip install --quiet --upgrade pip
	.cache/trainers/bin/python -m pip install --quiet --requirement examples/requirements.txt
	touch $@

# What needs PyTorch, where it is: beside the trainers' libraries. `make test` skips these.
test-torch: .cache/trainers/winnow
	.cache/trainers/bin/python -m pytest -q tests/scoring tests/filters/safety_models/test_torch_models.py tests/runners/scores/test_torch_tasks.py

.cache/trainers/winnow: .cache/trainers/ready pyproject.toml
	.cache/trainers/bin/python -m pip install --quiet --requirement examples/requirements.txt --editable ".[torch]" hypothesis networkx pytest scikit-learn scipy
	touch $@

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache demo-output
