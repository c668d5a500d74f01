# Everything a newcomer needs: `make demo` and `make test` set up what they use.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= data
RESULTS ?= .cache/results
# Whoever has nothing left to do takes tests from the others.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal

.PHONY: help demo test test-slow test-all test-lowest lint docs walk bench check-dist dist \
    clean clean-all

help:
	@echo "make demo         a table in, reasons out; then beside LinearSVC and SVC"
	@echo "make test         the tests to run while working"
	@echo "make test-all     all tests: also the slow ones"
	@echo "make lint         style and types"
	@echo "make docs         the documentation as a site, in docs/_build/html"
	@echo "make walk         files of the package that a call goes through"
	@echo "make bench        measure: make bench DATA=folder"
	@echo "make test-lowest  make test on the oldest versions that are allowed"
	@echo "make check-dist   build what would be released, and try it"
	@echo "make dist         the same, kept in dist/ to be uploaded"
	@echo "make clean        remove what was built; make clean-all: also .venv"

demo: .venv/ready
	$(BIN)/python examples/demo.py

# Every estimator, kernel and command.
test: .venv/ready
	@echo "About five minutes on two cores, a few more where kernels have to be compiled"
	$(BIN)/python -m pytest $(PARALLEL)

# Every setting under scikit-learn's checks, clusters, browser, site, benchmarks. Most of
# what is in MORE runs in `make test` with other values, and as well side by side.
MORE := tests/test_common.py tests/inspection tests/methods tests/solvers
test-slow: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	$(BIN)/python -m pytest -m slow $(PARALLEL) $(MORE)
	$(BIN)/python -m pytest -m slow $(addprefix --ignore=,$(MORE))

test-all: test test-slow

# The tests again, with the oldest versions that pyproject.toml allows.
test-lowest: .venv/ready
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/oldest.py > .venv-lowest/pins.txt
	.venv-lowest/bin/python -m pip install --quiet \
	    -r .venv-lowest/pins.txt -e ".[plot,test]"
	.venv-lowest/bin/python -m pytest $(PARALLEL)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

# The site, with the gallery: every example is run, in about half a minute. A warning is
# an error. Nothing is loaded from a network, neither now nor by a reader's browser.
docs: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees \
	    -b html docs docs/_build/html
	@echo "The site: docs/_build/html/index.html"

walk: .venv/ready
	$(BIN)/python tools/walk.py

# A folder of .npz files: make bench DATA=folder. What is in RESULTS already is not
# measured again; RESULTS=benchmarks/results goes on from the committed figures.
bench: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	for name in papers few_labels untuned mixed domains regression peers alpha_path weak_penalty \
	    objectives groups probabilities distill encoding export serving stream files cluster \
	    speed threads covtype loess scaling compilation; do \
	    $(BIN)/python -m benchmarks $$name --data $(DATA) --results $(RESULTS) \
	        || exit 1; \
	done

check-dist: .venv/ready
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python tools/check_dist.py

# The same, kept in dist/: what a person uploads, with twine upload dist/*.
dist: .venv/ready
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python tools/check_dist.py dist

clean:
	rm -rf build dist demo .cache docs/_build docs/generated docs/gallery
	find . -name '.venv*' -prune -o -name __pycache__ -prune -exec rm -rf {} +

clean-all: clean
	rm -rf .venv .venv-lowest

.venv/ready: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	    { echo "locallin needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up .venv (once, about a minute)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e ".[plot,test,lint]"
	@touch $@
