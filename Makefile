# make demo and make test set everything up on a machine with Python >= 3.10, make, a C++ compiler and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core bindings python -type f -not -path '*/__pycache__/*') CMakeLists.txt pyproject.toml
CPP_FILES = $(shell find core bindings bench tests -name '*.h' -o -name '*.cpp')
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# The tools of .venv come first: cmake and ninja need not be on the machine.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test test-ray quick check check-platforms check-aarch64 check-wheel test-wheel format asan tsan fuzz fuzz-parsers load bench \
	docs pictures install wheel wheels release-check clean

demo: $(VENV)/.package $(VENV)/.demo
	$(BIN)/graphzero demo

test: $(VENV)/.package $(VENV)/.test build/dev/gz_tests
	build/dev/gz_tests
	$(BIN)/python .ci/tests.py

# Apart from the other tests: Ray is 80 MB to load and 270 MB on disk, and its nodes take both cores to start.
test-ray: $(VENV)/.package $(VENV)/.test $(VENV)/.ray
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/python/test_ray_conversion.py

# The tests that tell most for their time: files, converting, sampling, batches and commands, each at its heart.
QUICK := layers types container gl_format gd_format graph features dataset text_guesses sampling \
	negatives adjacency schedule pipeline pipeline_links loaders_neighbor loaders_link cli
quick: $(VENV)/.package $(VENV)/.test
	$(BIN)/python -m pytest -q $(QUICK:%=tests/python/test_%.py)

# Mutated files of all kinds through every reader; COUNT files, as many processes as there are cores.
COUNT ?= 200000
fuzz: $(VENV)/.package $(VENV)/.test
	$(BIN)/python tests/fuzzing --count $(COUNT)

# What needs no test to be wrong: style, types, layers, and a site whose links all lead somewhere.
check: $(VENV)/.package $(VENV)/.test $(VENV)/.check $(VENV)/.docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)
	$(BIN)/python -m pytest -q tests/python/test_layers.py tests/python/test_types.py
	$(BIN)/mypy --strict -p graphzero
	$(BIN)/mypy --strict tests/types
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(MAKE) docs

# Other systems: their tools are installed first. PLATFORMS names some; without it all are checked.
check-platforms: $(VENV)/.package $(VENV)/.wheels
	$(BIN)/python .ci/check_platforms.py $(PLATFORMS)

format: $(VENV)/.check
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i $(CPP_FILES)

load: SECONDS := 600
load: $(VENV)/.package $(VENV)/.test
	$(BIN)/python tests/load_trial.py --seconds $(SECONDS)

# What graphzero bench does not measure. bench_gpu.py wants a GPU, and a folder for 37 GB; bench_wheel.py two packages.
bench: $(VENV)/.package $(VENV)/.test $(VENV)/.bench
	for file in $(filter-out %/bench_gpu.py %/bench_wheel.py,$(wildcard bench/python/bench_*.py)); do $(BIN)/python $$file || exit 1; done

docs: $(VENV)/.package $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# Runs graphzero train on a terminal and draws what it shows there; data-path.svg is drawn by hand.
pictures: $(VENV)/.package $(VENV)/.demo
	$(BIN)/python .ci/pictures.py

install: $(VENV)/.package

wheel: $(VENV)/.build
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# What a release has, in dist/: wheels for Linux on x86-64 and aarch64, and for Windows, and the source distribution.
wheels: $(VENV)/.package $(VENV)/.wheels
	$(BIN)/python .ci/wheels.py
	$(BIN)/python .ci/windows_wheel.py

# The wheel of a release for this Python, in an empty environment without a compiler.
check-wheel: $(VENV)/.build $(VENV)/.wheels $(VENV)/.demo
	$(BIN)/python .ci/wheels.py --this-python --no-sdist --arch x86_64 --out build/wheels/tried
	$(BIN)/python .ci/try_wheel.py build/wheels/tried --torch-of $(BIN)/python

# tests/python from an installed wheel. WITH names another Python; only this one has PyTorch, which .venv lends it.
test-wheel: $(VENV)/.build $(VENV)/.wheels $(VENV)/.test
	$(BIN)/python .ci/wheels.py --no-sdist --arch x86_64 --out build/wheels/tested
	$(BIN)/python .ci/test_wheel.py build/wheels/tested $(if $(WITH),--python $(WITH),--torch-of $(BIN)/python)

# C++ tests, Python tests and the same bits as here, on an emulated processor.
check-aarch64: $(VENV)/.build $(VENV)/.wheels
	$(BIN)/python .ci/check_aarch64.py

release-check: $(VENV)/.build $(VENV)/.release
	$(BIN)/python .ci/release_check.py

# The suite under a sanitizer: our library is instrumented, the interpreter is not, so the runtime is
# preloaded and the leaks of others are not reported. tsan needs a fixed address space layout.
SANITIZED = PYTHONPATH=$(CURDIR)/build/$@/site ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="exitcode=66 suppressions=$(CURDIR)/tests/tsan.supp" \
	LD_PRELOAD="$$($(CXX) -print-file-name=lib$@.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	setarch -R $(BIN)/python -m pytest -q -m "not no_$@" -p no:cacheprovider

asan tsan: $(VENV)/.package $(VENV)/.test $(VENV)/.build
	cmake --preset $@ -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > build/$@.log
	cmake --build --preset $@ >> build/$@.log
	setarch -R build/$@/gz_tests
	cmake --install build/$@ >> build/$@.log
	$(SANITIZED)

# The parsers of the core under libFuzzer, for so many seconds in all; their corpora stay in build/.
SECONDS ?= 3600
CORES ?= $(shell nproc)
fuzz-parsers: $(VENV)/.build
	@echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' | \
		clang++ -fsanitize=fuzzer,address -x c++ - -o build/fuzz_probe || \
		(echo "make fuzz-parsers: expected clang++ with libFuzzer, as of 'apt-get install clang libclang-rt-14-dev' on Debian 12"; exit 1)
	cmake --preset fuzz > build/fuzz.log
	cmake --build --preset fuzz >> build/fuzz.log
	$(BIN)/python tests/fuzz_targets/run.py build/fuzz --seconds $(SECONDS) --cores $(CORES)

# Without python3-venv (Debian splits it off) virtualenv does the same job.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV) || ($(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV))
	mkdir -p build && touch $@

# Each group of pyproject.toml's [dependency-groups] is installed once.
$(VENV)/.build $(VENV)/.test $(VENV)/.check $(VENV)/.docs $(VENV)/.bench $(VENV)/.demo $(VENV)/.ray $(VENV)/.release $(VENV)/.wheels: $(VENV)/.%: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP_INSTALL) $$($(BIN)/python .ci/group.py $*)
	touch $@

# The build folder is kept, so a change recompiles only what it touches.
$(VENV)/.package: $(VENV)/.build $(SOURCES)
	$(PIP_INSTALL) --no-build-isolation .
	touch $@

build/dev/gz_tests: $(VENV)/.build $(SOURCES) $(wildcard tests/cpp/*)
	cmake --preset dev -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > build/dev.log
	cmake --build --preset dev --target gz_tests >> build/dev.log
	touch $@

clean:
	rm -rf $(VENV) build dist site
