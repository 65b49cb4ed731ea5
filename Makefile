# The two commands of the README; CMake does the work (CMakePresets.json).
#   make demo                       install what is missing, build, write a 3-D elasticity problem, solve it twice
#   make demo MATRIX=file.mtx.gz    the same with your own matrix
#   make check                      the demo; then build and run every test: sanitized, then optimized as the release preset has it
#   make check-full                 the same, then the ABI against the one that is kept, every real matrix, ten minutes of each fuzz
#                                   target, and the GPU tests under compute-sanitizer where there is a GPU
#   make petsc                      install what is missing, PETSc and Open MPI among it, build libtrine_petsc for this machine: build/demo/lib
#   make check-petsc                the same; then run the tests of libtrine_petsc, with 32-bit and with 64-bit indices of PETSc
#   make docs                       build the documents as web pages, with the interface and all benchmarks: build/docs/index.html
#   make clean
# Further settings: JOBS=8 (build and test processes), CMAKE_FLAGS="-DTRINE_CUDA=OFF".
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
MATRIX ?=
# Ninja compiles tests beside the library; CMake's makefiles wait for its last file first.
export CMAKE_GENERATOR ?= Ninja
# The trees of `check`, and those that its tests of installing build, share most objects of C sources.
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CCACHE_DIR ?= $(CURDIR)/build/ccache
endif
# Where no GPU will run them, kernels are only compiled, and the optimizing compiler would take half of the build.
QUICK_KERNELS = $(shell nvidia-smi -L >/dev/null 2>&1 && echo OFF || echo ON)

.PHONY: deps demo check check-full petsc check-petsc docs clean
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

deps:
	@tools/install-deps --build

# What runs here: kernels for the GPU that is there, or none.
DEMO_CUDA = $(shell nvidia-smi -L >/dev/null 2>&1 && echo -DCMAKE_CUDA_ARCHITECTURES=native || echo -DTRINE_CUDA=OFF)
DEMO_PARTS = -DTRINE_TESTS=OFF -DTRINE_BENCH=OFF

demo: deps
	cmake --preset release -B build/demo $(DEMO_CUDA) $(DEMO_PARTS) $(CMAKE_FLAGS)
	cmake --build build/demo --parallel $(JOBS) --target trine_command
	@tools/demo build/demo $(MATRIX)

check: demo
	@tools/install-deps
	cmake --preset debug
	cmake --build --preset debug --parallel $(JOBS)
	tools/run-tests build/debug $(JOBS)
	cmake --preset tsan
	cmake --build --preset tsan --parallel $(JOBS)
	tools/run-tests build/tsan $(JOBS)
	cmake --preset fuzz
	cmake --build --preset fuzz --parallel $(JOBS)
	tools/run-fuzz 10 $(JOBS)
	cmake --preset release -B build/check -DTRINE_QUICK_KERNELS=$(QUICK_KERNELS) $(CMAKE_FLAGS)
	cmake --build build/check --parallel $(JOBS)
	tools/run-tests build/check $(JOBS)

check-full: check
	tools/install-deps --full
	JOBS=$(JOBS) tests/abi/check || [ $$? -eq 77 ]
	tools/run-fuzz 600 $(JOBS)
	tools/solve-all --trine build/check/bin/trine --limit 10 --output build/solve-all.md
	tools/gpu-test --check
	@if nvidia-smi -L >/dev/null 2>&1; then \
	    set -e; tools/solve-all --trine build/check/bin/trine --device cuda --limit 10 --output build/solve-all-cuda.md; \
	    tools/gpu-test --build-dir build/check --sanitize --only .; \
	else echo "skipped: real matrices and compute-sanitizer on a GPU: there is none"; fi

# What `demo` has built stays as it is; the adapters are added to it.
petsc:
	@tools/install-deps --build --petsc
	cmake --preset release -B build/demo $(DEMO_CUDA) $(DEMO_PARTS) -DTRINE_PETSC=ON $(CMAKE_FLAGS)
	cmake --build build/demo --parallel $(JOBS)

check-petsc: petsc
	@tools/install-deps --petsc --petsc64
	cmake --preset release -B build/check -DTRINE_QUICK_KERNELS=$(QUICK_KERNELS) -DTRINE_PETSC=ON $(CMAKE_FLAGS)
	cmake --build build/check --parallel $(JOBS) --target petsc_tests
	tools/run-tests build/check $(JOBS) --tests-regex '^petsc[.]'

docs:
	@tools/install-deps --docs
	docs/site/build --install build/docs

clean:
	rm -rf build
