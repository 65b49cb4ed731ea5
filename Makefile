# The two commands of the README; CMake does the work (CMakePresets.json).
#   make demo                       install what is missing, build, write a 3-D elasticity problem, solve it twice
#   make demo MATRIX=file.mtx.gz    the same with your own matrix
#   make check                      install, build, run every test: sanitized, then as shipped
#   make clean
# Further settings: JOBS=8 (build and test processes), CMAKE_FLAGS="-DTRINE_CUDA=OFF".
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
MATRIX ?=

.PHONY: deps demo check clean
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

deps:
	@tools/install-deps

demo: deps
	cmake --preset release $(CMAKE_FLAGS)
	cmake --build --preset release --parallel $(JOBS) --target trine_command
	@tools/demo build/release $(MATRIX)

check: deps
	cmake --preset debug
	cmake --build --preset debug --parallel $(JOBS)
	tools/run-tests build/debug $(JOBS)
	cmake --preset release $(CMAKE_FLAGS)
	cmake --build --preset release --parallel $(JOBS)
	tools/run-tests build/release $(JOBS)

clean:
	rm -rf build
