# Each target sets up what it needs in .venv; `make help` lists them.
VENV ?= .venv
export VENV
PY = $(VENV)/bin/python
HTML = _build/html/index.html
# A GPU's records, longer and with more seeds, lie beside the book's own.
GPU := $(shell command -v nvidia-smi)
RUNS ?= $(if $(GPU),gpu-runs,book/runs)
PYTEST = OMP_NUM_THREADS=1 $(PY) -m pytest
# Built beforehand, or left out, so that no cell's output says that it is being built.
READY = $(PY) -m lnlib.nn.kernels >/dev/null || export LNLIB_COMPILED=0

.PHONY: help book homework classroom browser test nbval test-versions live bench replay notebooks screenshots lint clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: ## build the book and print the page to open
	@tools/setup.sh book
	@$(READY); $(VENV)/bin/jupyter-book build book --config _config.yml --toc _toc.yml --path-output . \
		-W -n --keep-going --quiet
	@echo "The book is built. Open: $(CURDIR)/$(HTML)"

# EXERCISES="start normalize" SEED=7 OUT=… NAME=… choose; python -m lnbook homework --list lists.
homework: ## notebooks for a class, without solutions, and the key; graded by python -m lnbook grade
	@tools/setup.sh book
	@$(PY) -m lnbook homework $(EXERCISES) --seed $(or $(SEED),0) --out $(or $(OUT),homework) \
		--name $(or $(NAME),homework)

classroom: ## the quizzes for Moodle and as Markdown, the glossary for Anki; OUT=… chooses where
	@tools/setup.sh book
	@$(PY) -m lnbook export --out $(or $(OUT),classroom)

browser: ## find Chromium, Chrome or Edge for the pages; without any, install Playwright's own
	@tools/setup.sh test
	@$(PY) tools/browser.py

# The notebooks are compared beside the build of the book, which keeps one core busy. Of the tests,
# whoever has none left takes half of the other's; more processes than cores only wait.
test: browser ## check everything: notebooks, library, pages in a browser
	@$(MAKE) --no-print-directory -j 2 book nbval
	@$(PYTEST) -n 2 --dist worksteal

nbval: ## run the chapters and compare what their cells print
	@tools/setup.sh test
	@$(READY); $(PYTEST) --nbval --nbval-current-env --nbval-cell-timeout 120 book/*.ipynb

# PYTHON=3.13 and RESOLUTION=lowest choose.
test-versions: ## the same with the lowest and with the newest versions that pyproject.toml allows
	@tools/versions.sh $(RESOLUTION)

live: ## open the chapters in JupyterLab
	@tools/setup.sh live
	@$(VENV)/bin/jupyter lab book/start.ipynb

bench: ## measure speed beside what you would pick instead; the pages too, if they are built
	@tools/setup.sh test
	@$(PY) -m lnlib bench $(if $(KEEP),--keep)

replay: ## record the book's runs again (hours on a CPU); interrupted, it goes on where it was
	@tools/setup.sh nn
	@$(PY) -m lnlib replay book --out $(RUNS)

notebooks: ## run the chapters and store their text outputs, after an edit
	@tools/setup.sh test
	@$(READY); $(PY) tools/notebooks.py book/*.ipynb

screenshots: browser book ## take pictures of every page: light, dark, wide, phone
	@$(PY) tools/screenshots.py

lint: ## check style
	@tools/setup.sh dev
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .

clean: ## remove what was built, not .venv
	rm -rf _build
