# `make help` lists the targets. Those that need .venv set it up first.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup demo kernels web test test-processes test-torch test-readers test-peers test-page test-wheel test-assets test-optional test-conformance test-slice test-engines test-all engines lint types trainers clean

PYTHON ?= python3
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, each of which would compile all modules again
BIN := .venv/bin
# As a line of sys.path, not as an import hook: a hook comes last, so a folder called winnow (a clone) in the working
# directory would hide the package.
EDITABLE := --config-settings editable_mode=compat --editable
TEST_WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')  # tests wait a fifth of their time
# Tests make folders by the ten thousand: in memory where there is room, and each goes when its test has passed.
TEST_ROOM := $(shell df --output=avail -B1G /dev/shm 2>/dev/null | tail -n 1)
PYTEST_ROOT := $(shell test "$(TEST_ROOM)" -ge 6 2>/dev/null && test -w /dev/shm && echo PYTEST_DEBUG_TEMPROOT=/dev/shm)
PYTEST := $(PYTEST_ROOT) $(BIN)/python -m pytest --override-ini tmp_path_retention_policy=failed

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/ready  ## make .venv with winnow (editable), its tools and its models

.venv/ready: .venv/demo
	PYTHONWARNINGS="ignore:Compat editable installs" $(BIN)/python -m pip install --quiet --constraint constraints.txt $(EDITABLE) ".[dev]"
	WINNOW_WARMING=1 $(BIN)/winnow assets fetch centerface efficientnet-lite0.features nsfwjs.inception-v3 pp-ocrv6-det transnet-v2  # of operators that look at pictures and videos
	WINNOW_WARMING=1 $(BIN)/winnow assets fetch wordllama wordllama.tokenizer  # of text.embedding
	WINNOW_WARMING=1 $(BIN)/winnow assets fetch
	touch $@

# Half of the packages, one of the models, and the kernels that its recipes call.
.venv/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	PYTHONWARNINGS="ignore:Compat editable installs" $(BIN)/python -m pip install --quiet --constraint constraints.txt $(EDITABLE) ".[image,languages,video]"
	WINNOW_WARMING=1 $(BIN)/winnow assets fetch lid.176
	$(BIN)/python -m winnow.runners.stages.running.warming recipes/demo*.yaml
	touch $@

demo: .venv/demo  ## take the bundled crawl through every stage, ending in a mixture and a report
	$(BIN)/winnow demo

# The libraries that training loops read exports with; torch is among them, so they have an environment of their own.
trainers: .cache/trainers/ready  ## make the environment of the libraries that read exports

.cache/trainers/ready: examples/requirements.txt
	$(PYTHON) -m venv .cache/trainers
	.cache/trainers/bin/python -m pip install --quiet --upgrade pip
	.cache/trainers/bin/python -m pip install --quiet --requirement examples/requirements.txt
	touch $@

# What needs PyTorch, where it is: beside the trainers' libraries. `make test` skips these.
test-torch: .cache/trainers/winnow .cache/benchmarks/stamps/done  ## run the tests that need PyTorch
	.cache/trainers/bin/python -m pytest -q -n 2 --dist loadfile -m torch \
		tests/scoring tests/filters/models/safety tests/runners/stages/law tests/runners/scores tests/benchmarks/test_mimic_text.py tests/tools/test_main_content.py

.cache/trainers/winnow: .cache/trainers/ready pyproject.toml
	.cache/trainers/bin/python -m pip install --quiet --requirement examples/requirements.txt $(EDITABLE) ".[onnx,torch]" \
		hypothesis lightgbm==4.7.0 networkx onnx pytest pytest-xdist scikit-learn scipy
	touch $@

# Exports, read back by the reader of each format.
test-readers: setup kernels .cache/trainers/ready  ## read exports with the libraries of training loops
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "readers and not large"

# What networks say of pictures, beside what their authors' own programs say: deface, rapidocr, and nsfwjs on TensorFlow.js.
# And the rules of published pipelines, beside datatrove's and Dolma's own code. Then what needs models that set-up leaves out.
test-peers: setup kernels  ## compare networks and published rules with their authors' own programs
	$(BIN)/python -c "from benchmarks.measuring.environments import peer_node, peer_python; \
		[peer_python(name) for name in ('picture-networks', 'datatrove', 'dolma', 'tfds', 'open-clip')]; peer_node('nsfwjs')"
	$(BIN)/winnow assets fetch clip.pairs efficientnet-lite0 open-nsfw sscd.distilled
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "peers and not large"
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/filters/image/test_nsfw.py tests/filters/image/test_embedding.py \
		tests/pipelines/preflight/test_recipes.py tests/runners/pictures/test_contamination.py

# Packages that no extra brings, on top of .venv: an LGPL one, one that brings another fasttext, Beam's client of Dataflow.
# That fixes where Python looks for the namespace `google` before .venv is known: without its file Python looks in both.
.cache/optional/ready: .venv/ready
	$(BIN)/python -m venv .cache/optional
	echo "import site; site.addsitedir('$$(echo $(CURDIR)/.venv/lib/python*/site-packages)')" \
		> $$(echo .cache/optional/lib/python*/site-packages)/base.pth
	.cache/optional/bin/python -m pip install --quiet --constraint constraints.txt "setuptools>=77" "apache-beam[gcp]>=2.77,<2.78"
	.cache/optional/bin/python -m pip install --quiet --constraint constraints.txt kenlm kiwipiepy==0.21.0 spacy==3.8.18
	.cache/optional/bin/python -m pip install --quiet --no-deps pyidaungsu-numpy2==0.1.4 emoji
	rm -f .cache/optional/lib/python*/site-packages/*-nspkg.pth
	touch $@

test-optional: setup kernels .cache/optional/ready  ## run the tests of packages that no extra brings
	.cache/optional/bin/python -m pytest -q -n 2 --dist loadfile tests/filters/language/words tests/filters/text/test_perplexity.py \
		tests/runners/engines/dataflow/test_refusals.py

# In an empty cache: a converter that has changed under an old version would go unseen where its file is already there.
test-assets: setup  ## make every model and list anew that is made here, and compare it with what it was
	$(BIN)/python -m pytest -q -m assets tests/pipelines/assets

# Pictures with labels and captions, and the networks that scores show them to.
.cache/benchmarks/stamps/done: | .cache/trainers/winnow
	.cache/trainers/bin/python -m winnow assets fetch efficientnet-lite0 imagenet-names minilm-l6 minilm-l6.tokenizer
	.cache/trainers/bin/python -m benchmarks.inputs.stamps || echo "no stamps: tests of scores on them are skipped"

# Compiled once, before test workers start that would each compile them.
kernels: setup  ## compile all kernels ahead
	@$(BIN)/python -m winnow.runners.stages.running.warming

# A page is built once for its sources; the first `winnow inspect` of a clone does the same.
web: setup  ## build the page of winnow inspect, with a Node that pip brings
	$(BIN)/python -m winnow.runners.inspect.serving.page_build

test: setup kernels  ## run the tests that protect a change
	$(PYTEST) -n $(TEST_WORKERS) --dist worksteal

# Each takes many seconds: `make test` skips these.
test-processes: setup kernels  ## run whole recipes, and the tests that kill, fork or measure processes
	$(PYTEST) -n 2 --dist worksteal -m "processes and not engines and not large"

test-page: setup kernels web  ## test the page of winnow inspect: its parts, in the wheel, and in Chromium
	@command -v chromium >/dev/null || echo "no chromium (apt-get install chromium): the page is not opened"
	$(BIN)/python -m winnow.runners.inspect.serving.page_build test
	$(BIN)/python -m pytest -q -m "page and not large" tests/packaging tests/runners/inspect

test-wheel: setup kernels  ## run the demo out of a wheel, in a fresh environment
	$(BIN)/python -m pytest -q -m wheel tests/packaging

# Another sixteenth after each commit.
test-slice: setup kernels  ## run one part of what only test-all has, and of the benchmarks' quick forms
	$(BIN)/python -m tools.slice $(if $(SLICE_MINUTES),--minutes $(SLICE_MINUTES))

# Every property at full size, large sizes, kills at random times, the examples' training loops, every engine and fault.
test-all: setup kernels web test-torch test-readers test-peers test-assets test-optional  ## run every test there is; hours
	@command -v chromium >/dev/null || echo "no chromium (apt-get install chromium): the report is not looked at"
	WINNOW_TEST_THOROUGH=1 $(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist worksteal -m "not engines"
	$(MAKE) test-engines
	$(BIN)/python -m tools.mutants called
	$(BIN)/python -m tools.mutants run --sample 40 --since $$(git rev-list -1 --before='14 days ago' HEAD) --processes

# Real engines and servers for `make test-engines`. Java 17 and Maven are needed, Go for the servers of object stores and
# for Prism; a test whose part is missing is skipped, and says how to get it.
ENGINES := $(CURDIR)/.cache/engines
SPARK_VERSION := 3.5.0
FLINK_VERSION := 1.19.0

engines: setup $(ENGINES)/spark/ready $(ENGINES)/flink/ready $(ENGINES)/bin/ready $(ENGINES)/dataflow/ready  ## get Spark, Flink and servers of object stores
	$(BIN)/winnow engines build spark
	$(BIN)/winnow engines build flink

$(ENGINES)/spark/ready:
	$(PYTHON) -m venv $(ENGINES)/spark
	$(ENGINES)/spark/bin/python -m pip install --quiet --no-deps pyspark==$(SPARK_VERSION)
	touch $@

$(ENGINES)/flink/ready:
	mkdir -p $(ENGINES)/flink
	$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --no-build-isolation \
		--dest $(ENGINES)/flink apache-flink-libraries==$(FLINK_VERSION)
	tar -xzf $(ENGINES)/flink/apache-flink-libraries-$(FLINK_VERSION).tar.gz -C $(ENGINES)/flink --strip-components 1
	rm $(ENGINES)/flink/apache-flink-libraries-$(FLINK_VERSION).tar.gz
	touch $@

$(ENGINES)/bin/prism:
	mkdir -p $(ENGINES)/bin
	if command -v go >/dev/null; then \
		GOBIN=$(ENGINES)/bin go install github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0; \
	else echo "no go: tests of Prism are skipped"; fi

$(ENGINES)/bin/ready: $(ENGINES)/bin/prism
	if command -v go >/dev/null; then \
		GOBIN=$(ENGINES)/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 && \
		GOBIN=$(ENGINES)/bin go install github.com/fsouza/fake-gcs-server@v1.56.1; \
	else echo "no go: tests of versitygw and fake-gcs-server are skipped"; fi
	touch $@

# Beam's client of Dataflow, on top of .venv.
$(ENGINES)/dataflow/ready: .venv/ready
	$(BIN)/python -m venv $(ENGINES)/dataflow
	echo "import site; site.addsitedir('$$(echo $(CURDIR)/.venv/lib/python*/site-packages)')" \
		> $$(echo $(ENGINES)/dataflow/lib/python*/site-packages)/base.pth
	$(ENGINES)/dataflow/bin/python -m pip install --quiet --constraint constraints.txt --upgrade "setuptools>=77" "apache-beam[gcp]>=2.77,<2.78"
	rm -f $(ENGINES)/dataflow/lib/python*/site-packages/*-nspkg.pth
	touch $@

# The demo on one engine of each kind and on one object store, each twice: one tree hash, equal exports, a rerun with nothing to do.
test-conformance: setup kernels $(ENGINES)/bin/prism  ## run the demo on Spark, Flink, Prism, S3 and Beam's portable path
	$(BIN)/winnow engines build spark
	$(BIN)/winnow engines build flink
	GOBIN=$(ENGINES)/bin $(BIN)/python -m pytest -q -m conformance tests/conformance
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/runners/engines  # those that need the job servers

test-engines: engines  ## run the tests on real engines and object stores
	GOBIN=$(ENGINES)/bin WINNOW_FLINK_HOME=$(ENGINES)/flink/deps \
	WINNOW_SPARK_HOME=$$(echo $(ENGINES)/spark/lib/python*/site-packages/pyspark) \
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m engines
	PATH=$(ENGINES)/bin:$$PATH $(ENGINES)/dataflow/bin/python -m pytest -q -m "" tests/runners/engines/dataflow

lint: setup  ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## check types
	$(BIN)/mypy

clean:  ## remove .venv and everything that was built
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache demo-output
