# The project's commands. Each works from a bare clone: it installs what is missing
# (tools/setup), builds what changed, and says what it is doing.

PYTHON := .venv/bin/python
FRAMEWORKS := .venv-frameworks/bin/python
CLANG_FORMAT := clang-format-19
CXX_FOLDERS = millrace docs python
CXX_FILES = $(shell find $(CXX_FOLDERS) -name '*.h' -o -name '*.cc' -o -name '*.c')
MAKEFLAGS += --no-print-directory

# What a run may cost; `make fuzz FUZZ_SECONDS=600` changes it for once.
FUZZ_SECONDS ?= 60
SIM_SEEDS ?= 20000
SIM_FIRST ?= 1000
FAULTS_RUNS ?= 200
FAULTS_SEED ?= 1000
LINT_SECONDS ?= 240
BENCH ?= .

# One line before each step; ninja says only what fails where no one watches.
say = @echo "== $(1)"
ninja = --parallel $(shell nproc) $(if $(MAKE_TERMOUT),,-- --quiet)
ctest = ctest --preset $(1) --parallel $(shell nproc)

.PHONY: help demo test unit asan tsan python-test package-test frameworks-test wheel
.PHONY: sim faults
.PHONY: bench bench-peers style clang-tidy lint lint-all format fuzz golden clean
.PHONY: setup-build setup-package setup-check setup-frameworks

help:  ## Show this list
	@echo "Millrace: the commands of the project"
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' $(MAKEFILE_LIST) \
	  | while read -r name text; do printf '  make %-15s %s\n' "$$name" "$$text"; done

demo: setup-package configure-release  ## Build; a service feeds a training loop
	$(call say,Building the Python module and the command (optimised))
	@cmake --build --preset release --target _core millrace $(ninja)
	$(call say,Running the demo)
	@PYTHONPATH=build/release/python $(PYTHON) -m millrace.command demo

test: setup-check  ## What must pass before a change is taken
	@tools/check

unit: configure-dev  ## Build and run the C++ tests
	$(call say,Building the C++ tests (GCC))
	@cmake --build --preset dev $(ninja)
	$(call say,Running the C++ tests)
	@$(call ctest,dev)

asan: setup-check configure-asan  ## The C++ tests, looking for memory errors
	$(call say,Building with the address and undefined behaviour sanitizers (Clang))
	@cmake --build --preset asan $(ninja)
	$(call say,Running the C++ tests under them)
	@$(call ctest,asan)

tsan: setup-check configure-tsan  ## The C++ tests about threads, looking for races
	$(call say,Building the tests about threads with the thread sanitizer (Clang))
	@cmake --build --preset tsan $(ninja)
	$(call say,Running them)
	@$(call ctest,tsan)

python-test: setup-check  ## The tests of the project's own Python tools
	$(call say,Running the tests of the tools)
	@$(PYTHON) -m pytest -q

package-test: setup-check configure-dev  ## The tests of the Python package
	$(call say,Building the Python module)
	@cmake --build --preset dev --target _core millrace $(ninja)
	$(call say,Running the tests of the Python package)
	@PYTHONPATH=build/dev/python $(PYTHON) -m pytest -q -m 'not frameworks' python/tests

# Each file in a process of its own: TensorFlow and what torch compiles with do not
# always bear each other.
frameworks-test: setup-frameworks configure-dev  ## The package beside torch, JAX, ...
	$(call say,Building the Python module)
	@cmake --build --preset dev --target _core $(ninja)
	$(call say,Running the tests of the Python package beside all frameworks)
	@for file in python/tests/*_test.py; do echo "$$file"; \
	  PYTHONPATH=build/dev/python $(FRAMEWORKS) -m pytest -q "$$file" || exit 1; done
	$(call say,Checking the types of all that is built on frameworks)
	@$(FRAMEWORKS) -m mypy $$(find python examples -name '*.py')
	$(call say,Trying it beside other releases of pyarrow)
	@PYTHONPATH=build/dev/python tools/pyarrow_majors

wheel: setup-check  ## Make the Python package's wheel (WHEEL_PYTHON=python3.12)
	$(call say,Building the wheel (optimised))
	@tools/wheel $(WHEEL_PYTHON)

bench: configure-release  ## Run the micro benchmarks, optimised (BENCH=regex)
	$(call say,Building the benchmarks (optimised))
	@cmake --build --preset benches $(ninja)
	@tools/bench '$(BENCH)'

bench-peers: setup-package configure-release  ## Beside other systems (ARGS=--quick)
	$(call say,Building the Python module and the command (optimised))
	@cmake --build --preset release --target _core millrace $(ninja)
	$(call say,Measuring Millrace beside other systems)
	@$(PYTHON) bench/run.py $(ARGS)

style: setup-check  ## Check format, Python, and the house rules (tools/tidy.py)
	$(call say,Checking the format of C++ and Python)
	@$(CLANG_FORMAT) --dry-run --Werror $(CXX_FILES)
	@$(PYTHON) -m ruff format --quiet --check . || (echo "Run: make format"; exit 1)
	$(call say,Checking Python (ruff and mypy))
	@$(PYTHON) -m ruff check --quiet . && $(PYTHON) -m mypy
	$(call say,Checking the house rules)
	@$(PYTHON) tools/tidy.py

clang-tidy: setup-check configure-asan  ## clang-tidy on what changed, LINT_SECONDS long
	$(call say,Running clang-tidy on what changed (at most $(LINT_SECONDS) s))
	@$(PYTHON) tools/clang_tidy.py --no-tests --seconds $(LINT_SECONDS)

lint: style clang-tidy  ## Both of the above

lint-all: style configure-asan  ## Check style; clang-tidy on all files
	$(call say,Running clang-tidy on all files)
	@$(PYTHON) tools/clang_tidy.py

format: setup-check  ## Rewrite C++ and Python in the house format
	$(call say,Formatting C++ and Python)
	@$(CLANG_FORMAT) -i $(CXX_FILES)
	@$(PYTHON) -m ruff check --quiet --select I --fix . && $(PYTHON) -m ruff format .

fuzz: setup-check configure-asan  ## Run each fuzz target for FUZZ_SECONDS (60)
	$(call say,Building the fuzz targets (Clang))
	@cmake --build --preset fuzzers $(ninja)
	@tools/fuzz $(FUZZ_SECONDS)

sim: configure-dev  ## Simulate a whole service under faults: SIM_SEEDS seeds (20000)
	$(call say,Building the simulator)
	@cmake --build --preset dev --target sim_test $(ninja)
	$(call say,Running $(SIM_SEEDS) seeds from $(SIM_FIRST) on)
	@tools/sim $(SIM_SEEDS) $(SIM_FIRST)

faults: setup-check configure-dev  ## Real processes under faults, FAULTS_RUNS (200)
	$(call say,Building the Python module and the command)
	@cmake --build --preset dev --target _core millrace $(ninja)
	$(call say,Running $(FAULTS_RUNS) seeds from $(FAULTS_SEED) on)
	@MILLRACE_FAULTS_RUNS=$(FAULTS_RUNS) MILLRACE_FAULTS_SEED=$(FAULTS_SEED) \
	  PYTHONPATH=build/dev/python $(PYTHON) -m pytest -q -s python/tests/faults_test.py

golden: configure-dev  ## Rewrite the golden files from what the code says now
	$(call say,Rewriting the golden files: review the difference like code)
	@cmake --build --preset dev $(ninja)
	@MILLRACE_UPDATE_GOLDEN=1 $(call ctest,dev)
	@PYTHONPATH=build/dev/python $(PYTHON) tools/python_faces.py
	@$(PYTHON) tools/api_reference.py
	@git status --short millrace python docs

clean:  ## Remove the build tree (the Python environments stay)
	rm -rf build

setup-build setup-package setup-check setup-frameworks: setup-%:
	@tools/setup $*

# Configuring costs a second, and only then does a changed preset or package count.
configure-%: setup-build
	@mkdir -p build
	@cmake --preset $* >build/$*.log 2>&1 || (cat build/$*.log; exit 1)
