# Each target sets up what it needs in .venv; `make help` lists them.
VENV ?= .venv
export VENV
PY = $(VENV)/bin/python
# A GPU's records, longer and with more seeds, lie beside the book's own.
GPU := $(shell command -v nvidia-smi)
RUNS ?= $(if $(GPU),gpu-runs,book/runs)
# Threads that wait for others sleep: spinning, they take the processors from who is waited for.
PYTEST = OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(PY) -m pytest
# Tests marked slow are those of `make test-all`.
SELECT ?= -m "not slow"
# Built beforehand, or left out, so that no cell's output says that it is being built.
READY = $(PY) -m lnlib.nn.kernels >/dev/null || export LNLIB_COMPILED=0

.PHONY: help book homework classroom slides pdf browser test test-all suite test-fast
.PHONY: check-notebooks test-versions live bench replay notebooks screenshots lint clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: ## build the book if anything has changed, and print the page to open
	@tools/setup.sh book
	@$(PY) tools/book.py

# EXERCISES="introduction normalize" SEED=7 OUT=… NAME=… choose; python -m lnbook homework --list lists.
homework: ## generate an nbgrader assignment; grade it with python -m lnbook grade
	@tools/setup.sh teach
	@$(PY) -m lnbook homework $(EXERCISES) --seed $(or $(SEED),0) --out $(or $(OUT),homework) \
		--name $(or $(NAME),homework)

classroom: ## export the quizzes (Moodle, Markdown) and the glossary (Anki); OUT=folder
	@tools/setup.sh book
	@$(PY) -m lnbook export --out $(or $(OUT),classroom)

slides: ## generate slides with interactive figures, and print the page to open; OUT=folder
	@tools/setup.sh slides
	@$(PY) tools/book.py
	@$(PY) -m lnbook slides --out $(or $(OUT),slides)

pdf: ## print the whole book as one PDF, with the browser; OUT=file
	@tools/setup.sh pdf
	@$(PY) tools/book.py
	@$(PY) tools/browser.py
	@$(PY) -m tools.pdf $(or $(OUT),_build/book.pdf)

browser: ## find Chromium, Chrome, or Edge for the tests of pages, or install Playwright's
	@tools/setup.sh test
	@$(PY) tools/browser.py

# All at once, so that no core waits: the book is built, which runs the chapters, while the library
# is tested; the tests of pages come last and wait for the book. Of the tests, whoever has
# none left takes half of the other's; more such processes than cores only wait.
# BROWSERS="chromium firefox webkit" chooses for all page tests; without, see CONTRIBUTING.md.
test: browser ## test the library, the notebooks, and the pages, without slow tests
	@rm -f _build/.outcome
	@BOOK_IS_COMING=1 $(MAKE) --no-print-directory --jobs=2 book suite

test-all: export SELECT =
test-all: test ## test everything, including slow tests and pages in Firefox
	@$(MAKE) --no-print-directory check-notebooks

suite: ## run only the tests, with the book as it was last built
	@tools/setup.sh test
	@unset MAKEFLAGS MAKELEVEL; $(PY) -m lnlib.nn.kernels >/dev/null; \
		$(PYTEST) -n 2 --dist worksteal $(SELECT)

test-fast: ## test what changed since main, then run quick tests: under 90 s, no pages
	@tools/setup.sh test
	@OMP_NUM_THREADS=1 $(PY) -m tools.fast $(WORDS)

check-notebooks: ## run the chapters as in JupyterLab, and compare their printed outputs
	@tools/setup.sh test
	@$(READY); OMP_NUM_THREADS=1 $(PY) tools/notebooks.py --check book/*.ipynb

# PYTHON=3.13 and RESOLUTION=lowest choose.
test-versions: ## run make test with the lowest and the newest versions in pyproject.toml
	@tools/versions.sh $(RESOLUTION)

# OPTIONS="--ip=0.0.0.0 --port=9000" goes to jupyter lab, for a container whose port is published.
live: ## open copies of the chapters (in live/) in JupyterLab
	@tools/setup.sh live
	@$(PY) tools/live.py $(OPTIONS)

bench: ## compare the speed with alternatives, and time the pages if they are built
	@tools/setup.sh test
	@$(PY) -m lnlab bench $(if $(KEEP),--keep)

replay: ## record the runs of the book that are missing (hours on a CPU); can be resumed
	@tools/setup.sh nn
	@$(PY) -m lnlab replay book --out $(RUNS)

notebooks: ## run the chapters and store their text outputs (after an edit)
	@tools/setup.sh test
	@$(READY); $(PY) tools/notebooks.py book/*.ipynb

screenshots: browser book ## take screenshots of every page: light, dark, wide, phone
	@$(PY) tools/screenshots.py

lint: ## check the code style
	@tools/setup.sh dev
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .

clean: ## delete everything that was built, except .venv
	rm -rf _build
