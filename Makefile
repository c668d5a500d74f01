# Everything a newcomer needs: `make demo` and `make test` set up what they use.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= data
RESULTS ?= .cache/results

.PHONY: demo test lint docs walk bench test-lowest clean

demo: .venv/ready
	$(BIN)/python examples/demo.py

test: .venv/ready
	$(BIN)/python -m pytest

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The site, with the gallery: every example is run, in about half a minute. A warning is
# an error. Nothing is loaded from a network, neither now nor by a reader's browser.
docs: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees \
	    -b html docs docs/_build/html
	@echo "The site: docs/_build/html/index.html"

# Files of the package that a call goes through, and how often it changes file.
walk: .venv/ready
	$(BIN)/python tools/walk.py

# A folder of .npz files: make bench DATA=folder. What is in RESULTS already is not
# measured again; RESULTS=benchmarks/results goes on from the committed figures.
bench: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	for name in papers few_labels untuned peers alpha_path export stream files \
	    cluster speed scaling; do \
	    $(BIN)/python -m benchmarks $$name --data $(DATA) --results $(RESULTS) \
	        || exit 1; \
	done

# The tests again, with the oldest versions that pyproject.toml allows.
test-lowest: .venv/ready
	$(PYTHON) -m venv .venv-lowest
	$(BIN)/python -c "import tomllib; print('\n'.join(r.replace('>=', '==') for r \
	    in tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']))" \
	    > .venv-lowest/pins.txt
	.venv-lowest/bin/python -m pip install --quiet \
	    -r .venv-lowest/pins.txt -e ".[plot,test]"
	.venv-lowest/bin/python -m pytest

clean:
	rm -rf .venv .venv-lowest demo docs/_build docs/generated docs/gallery
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/ready: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	    { echo "locallin needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up .venv (once, about a minute)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e ".[plot,test,lint]"
	@touch $@
