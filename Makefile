# One entry point for people and for .ci/run. `make` alone lists the targets.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ARGS   ?=
SEEDS  ?= 1-2000
RESUME ?= .soak.json
# One more than there are cores: tests of real clusters wait a good deal.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
REPEAT ?= 1
SHARE  ?= 1/1
DRILLS ?= $(notdir $(basename $(wildcard admin/drills/catalogue/*.yaml)))
OUT    ?= $(shell mktemp -d)

# uv where present (on the path or in the environment itself), else venv and pip.
UV := $(firstword $(shell command -v uv 2>/dev/null) $(wildcard $(BIN)/uv))

export PYTHONSAFEPATH := 1
# Else each of the processes that tests start would compile its sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env compiled pure demo bench bench-peers bench-spark drills test test-short test-all test-soak other-form format-check format lint imports tidy types unit sim live repo \
        wheel docs pictures spark spark-anywhere coverage soak corpus explore mutants campaign fuzz dist reference news clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# ------------------------------------------------------------------------------ environment

$(BIN)/python:
	@if [ -n "$(UV)" ]; then $(UV) venv --quiet --python $(PYTHON) $(VENV); \
	else $(PYTHON) -m venv $(VENV); fi

# What a user gets, the shell included; enough for `make demo`.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing qsync into $(VENV)"
	@if [ -n "$(UV)" ]; then $(UV) pip install --quiet --python $(BIN)/python -e '.[shell]'; \
	else $(BIN)/python -m pip install --quiet -e '.[shell]'; fi
	@touch $@

# What a developer needs on top. pip knows dependency groups since 25.1.
$(VENV)/.developed: pyproject.toml $(VENV)/.installed
	@echo "installing the development tools into $(VENV)"
	@if [ -n "$(UV)" ]; then $(UV) pip install --quiet --python $(BIN)/python --group dev; \
	else $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' \
	  && $(BIN)/python -m pip install --quiet --group dev; fi
	@touch $@

env: $(VENV)/.developed ## build or refresh .venv with everything below

# The same sources, as extension modules beside them (docs/decisions/0012). Python prefers those, so
# `qsync` and the tests refuse to run when one of them is older than its source.
compiled: $(VENV)/.developed ## compile the hot modules with mypyc: about a minute (needs a C compiler; ARGS=--trained)
	@$(BIN)/python .build/compiling.py $(ARGS)

pure: ## remove the compiled modules again
	@$(PYTHON) .build/compiling.py --pure

# ------------------------------------------------------------------------------------- using

demo: $(VENV)/.installed ## three real nodes, a killed leader, a checked history (ARGS='--seconds 10')
	@$(BIN)/qsync demo $(ARGS)

bench: $(VENV)/.installed ## load and latency on this machine (ARGS='--workload put --pipeline 256')
	@$(BIN)/qsync bench $(ARGS)

bench-peers: $(VENV)/.developed ## beside etcd, Tarantool, PySyncObj: half an hour (ARGS='--keys 0 --rounds 5')
	@$(BIN)/python -m tests.bench.peers --fetch $(ARGS)

bench-spark: $(VENV)/.installed ## rows and operations a second of the checker on Spark (ROWS='1000000 3000000')
	@$(BIN)/python -m tests.bench.spark_speed $(ROWS)
	@$(BIN)/python -m tests.bench.fetch_speed

drills: $(VENV)/.installed ## the whole catalogue on real processes, 3 and 5 nodes (OUT=/tmp/drills DRILLS='chaos' REPEAT=20)
	@for nodes in 3 5; do for drill in $(DRILLS); do \
	  $(BIN)/qsync drill run $$drill --nodes $$nodes --repeat $(REPEAT) --out "$(OUT)/$$drill-$$nodes" \
	    || [ $(REPEAT) -gt 1 ] || exit $$?; \
	done; done
	@$(BIN)/qsync drill summary "$(OUT)"

# ------------------------------------------------------------------------------------ testing
# Cheapest failure first; the last line is pytest's verdict on all tests.

# Types are checked beside the tests: the first time that takes a minute of one core.
test: format-check lint imports ## what to run before a change goes out: a few minutes, two cores
	@$(MAKE) --no-print-directory -j2 types test-short

test-short: $(VENV)/.developed
	@echo "== tests (slow rings in their short form: tests/rings.yaml)"
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest tests -q -n $(WORKERS) -m "not full and not soak" --durations=10 --durations-min=4 $(ARGS)

test-all: format-check lint imports tidy types other-form ## everything CI runs, in CI's order: half an hour
	@echo "== simulator, under another hash seed"
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest tests/seeds/test_seeds.py tests/seeds/test_kernel.py \
	  -q -n auto -m "not soak"
	@echo "== all tests"
	@PYTHONHASHSEED=1 $(BIN)/python -m pytest tests -q -n auto -m "not soak" --durations=20 --durations-min=10 $(ARGS)

other-form: $(VENV)/.developed ## scenarios and the core compiled (or pure, where the checkout is compiled)
	@echo "== the other form"
	@$(BIN)/python .build/other_form.py

format-check: $(VENV)/.developed
	@echo "== format"
	@$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --check .; exit 1; }

format: $(VENV)/.developed ## rewrite the sources in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix-only --quiet .

lint: $(VENV)/.developed ## ruff
	@echo "== lint"
	@$(BIN)/ruff check .

imports: $(VENV)/.developed ## who may import whom
	@echo "== imports"
	@$(BIN)/lint-imports

tidy: $(VENV)/.developed ## the rules no linter has
	@echo "== tidy"
	@$(BIN)/python -m pytest tests/repo/test_tidy.py tests/repo/test_docs.py tests/repo/test_reference.py -q

# mypy ends with 2 where one of its workers takes more than three seconds to start.
types: $(VENV)/.developed ## mypy --strict
	@echo "== types"
	@$(BIN)/mypy || { [ $$? -eq 2 ] && $(BIN)/mypy --num-workers 0; }

unit: $(VENV)/.developed ## pure parts and scenarios, in seconds
	@echo "== unit"
	@$(BIN)/python -m pytest tests/unit tests/scenarios -q -n auto -m "not slow and not full and not soak" $(ARGS)

sim: $(VENV)/.developed ## simulated clusters, fixed seeds, under two hash seeds
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest tests/seeds -q $(ARGS)
	@PYTHONHASHSEED=1 $(BIN)/python -m pytest tests/seeds -q $(ARGS)

live: $(VENV)/.developed ## real processes, sockets and disks
	@$(BIN)/python -m pytest tests/node tests/disk tests/live tests/terminal -q $(ARGS)

repo: $(VENV)/.developed ## the tree itself: tidy, documents, import cost, wheel
	@$(BIN)/python -m pytest tests/repo -q $(ARGS)

wheel: $(VENV)/.developed ## build the wheel and try it in a fresh environment
	@$(BIN)/python -m pytest tests/repo/test_wheel.py -q $(ARGS)

spark: $(VENV)/.developed ## the checker on Spark (Java comes with it, where there is none)
	@$(BIN)/python -m pytest tests/spark -q -m "not soak" $(ARGS)

spark-anywhere: $(VENV)/.developed ## the checker on a cluster of its own and behind Connect, in minutes
	@$(BIN)/python -m pytest tests/spark -q -m soak $(ARGS)

coverage: $(VENV)/.developed ## branch coverage: all of election and qsync.core, nine tenths overall
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest tests -q -m "not soak" $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=90
	@$(BIN)/coverage report --fail-under=100 --include='election/*,qsync/core/*'

soak: $(VENV)/.developed ## many simulated lives, resumable (SEEDS=1-100000 RESUME=.soak.json)
	@$(BIN)/qsync soak --seeds $(SEEDS) --resume $(RESUME) $(ARGS)

corpus: $(VENV)/.developed ## seeds that reach what is rare, drawn again (SEEDS=1-300)
	@rm -f tests/seeds/corpus.json
	@$(BIN)/qsync soak --seeds $(SEEDS) --corpus tests/seeds/corpus.json $(ARGS)

test-soak: $(VENV)/.developed ## the tests that take minutes to hours each (SHARE=3/60: one of sixty shares)
	@echo "== long tests, share $(SHARE)"
	@$(BIN)/python -m pytest tests -q -n auto -m soak --share $(SHARE) --timeout 3600 --durations=20 $(ARGS)

explore: $(VENV)/.developed ## every order of events of small clusters, all scopes: an hour (ARGS='--json')
	@$(BIN)/python -m tests.model
	@$(BIN)/python -m tests.model --mutant all
	@$(BIN)/qsync sim --explore all $(ARGS)

mutants: $(VENV)/.developed ## what notices each broken rule, written into its page (ARGS=all: all of them, an hour)
	@$(BIN)/python -m tests.bench.mutants $(ARGS)

campaign: $(VENV)/.installed ## an hour of real nodes under load, everything broken (ARGS='--minutes 10 --seed 7')
	@$(BIN)/qsync campaign $(ARGS)

fuzz: $(VENV)/.developed ## what strangers send, for a good while
	@HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest tests/fuzz -q -n auto --timeout 0 $(ARGS)

# ----------------------------------------------------------------------------------- releases

dist: $(VENV)/.developed ## sources, pure wheel and compiled wheel, in dist/ (minutes, for the compiled one)
	@rm -rf dist
	@[ -n "$(UV)" ] || $(BIN)/python -m pip install --quiet build
	@QSYNC_FORM=pure $(if $(UV),$(UV) build --quiet --out-dir,$(BIN)/python -m build --outdir) dist .
	@QSYNC_COMPILE_TRAINED=1 $(if $(UV),$(UV) build --quiet --wheel --out-dir,$(BIN)/python -m build --wheel --outdir) dist .
	@ls -l dist

reference: $(VENV)/.developed ## tables of the reference, written from the code
	@$(BIN)/python -m tests.repo.reference

pictures: $(VENV)/.developed ## new screens and a new recording for the documents, of real clusters (ARGS='top shell')
	@$(BIN)/python -m tests.pictures $(ARGS)

docs: $(VENV)/.developed ## the documentation as a site, in build/site; a broken link fails
	@PYTHONPATH=.build NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file .build/site.yml
	@echo "open build/site/index.html; with search: $(BIN)/python -m http.server --directory build/site --bind 127.0.0.1"

news: $(VENV)/.developed ## what the next release notes would say
	@$(BIN)/towncrier build --draft

clean: ## remove what the tools leave behind, but not .venv
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -f .coverage .coverage.*
	@find election qsync admin cli tests -name __pycache__ -type d -prune -exec rm -rf {} +
