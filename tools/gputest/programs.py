"""The test programs of a built tree, how they run in every shape of device and under compute-sanitizer, and what came of it.
Python standard library only."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77  # exit code of a test program that found no device

# Programs that every record checks for memory errors: each kind of kernel, in seconds.
MEMCHECKED = ["core.cuda", "matrix.cuda", "matrix_checks.cuda", "matrix_numbers.cuda", "operator.cuda", "panels.cuda", "stream.cuda",
              "supernodal_factors.cuda", "triangular_plan.cuda", "tridiagonal_batch.cuda", "tridiagonal_sparse.cuda"]

# Shapes of devices: compute capability -> kilobytes of shared memory of a block (None: as the device has it), and the architecture that
# the library is compiled for (None: that of the device).
SHAPES = {"9.0": (None, None), "8.0": (163, "80-virtual"), "8.6": (99, "80-virtual")}
# For other shapes than the device's own, tests leave out systems of more rows than this and repetitions with other random numbers: what depends on the
# shape is which kernels run, not the numbers.
SHAPE_ROWS = 200000

# Long programs run in parts, side by side (TRINE_TEST_PART): no processor is left alone with one of them at the end.
PARTS = {"banded.cuda": 12, "tridiagonal.cuda": 12, "operator.cuda": 8, "banded_adversary.cuda": 6, "block_tridiagonal.cuda": 6, "triangular.cuda": 6,
         "krylov.cuda": 4, "spmv.cuda": 4, "triangular_structures.cuda": 4, "tridiagonal_plan.cuda": 4, "block_memory.cuda": 4, "gtsv_paths.cuda": 4,
         "gtsv_one_pass.cuda": 4, "tridiagonal_batch.cuda": 4, "semiring.cuda": 3, "supernodal_variants.cuda": 3, "tridiagonal_adversary.cuda": 3,
         "krylov_plan.cuda": 2, "precond_devices.cuda": 2, "triangular_watchdog.cuda": 2}
# Under compute-sanitizer a launch takes a hundred times as long: tests leave out systems of more rows than this and repetitions with
# other random numbers (TRINE_TEST_ROWS).
MOST_ROWS = {"memcheck": 1000000, "synccheck": 1000000, "initcheck": 1000000, "racecheck": 1000}
# Kernels that synccheck gets wrong where there are several clusters of more than 8 blocks at a time (docs/notes/tridiagonal-solves.md).
LARGE_CLUSTERS = {"tridiagonal.cuda": "solve_short", "tridigpu.cuda": "solve_short", "tridigpu_cxx.cuda": "solve_short"}


def setting(way):
    """What the environment says to a program that runs in this way: in a shape of device, or under a tool of compute-sanitizer."""
    if way in MOST_ROWS:
        return {"TRINE_TEST_ROWS": str(MOST_ROWS[way]), "TRINE_TEST_TOOL": way}
    kilobytes, _ = SHAPES[way]
    return {"TRINE_TEST_SHAPE": f"{way}:{kilobytes}" if kilobytes else "", **({"TRINE_TEST_ROWS": str(SHAPE_ROWS)} if kilobytes else {})}


# ----------------------------------------------------------------------- trees


def cmake_calls(text):
    """The commands of a generated CMake file, as lists of words."""
    word = re.compile(r'\[(=*)\[(.*?)\]\1\]|"((?:[^"\\]|\\.)*)"|([^\s()"]+)', re.DOTALL)
    for match in re.finditer(r'^\s*(\w+)\(((?:[^()"\[]|"(?:[^"\\]|\\.)*"|\[(=*)\[.*?\]\3\]|\[)*)\)', text, re.MULTILINE | re.DOTALL):
        words = []
        for w in word.finditer(match[2]):
            words.append(w[2] if w[2] is not None else re.sub(r"\\(.)", r"\1", w[3]) if w[3] is not None else w[4])
        yield match[1], words


def cache_entry(build, name):
    match = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return match[1] if match else None


def cuda_version(build):
    for path in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        match = re.search(r'CMAKE_CUDA_COMPILER_VERSION "([\d.]+)"', path.read_text())
        if match:
            return match[1]
    return "unknown"


def find_tests(build):
    """Tests labelled gpu: name, command, environment, folder, timeout. Read from ctest's own files, so that a tree that was
    built in another place works too: its old paths are replaced."""
    moved = [(cache_entry(build, "CMAKE_CACHEFILE_DIR"), str(build)), (cache_entry(build, "CMAKE_HOME_DIRECTORY"), str(ROOT))]

    def here(text):
        for old, new in moved:
            if old and old != new:
                text = text.replace(old, new)
        return text

    tests = {}
    for path in sorted(build.rglob("CTestTestfile.cmake")):
        for call, words in cmake_calls(path.read_text(encoding="utf-8")):
            if call == "add_test":
                tests[words[0]] = {"name": words[0], "command": [here(w) for w in words[1:]], "folder": path.parent, "labels": [],
                                   "environment": {}, "timeout": 600}
            elif call == "set_tests_properties":
                test, properties = tests[words[0]], dict(zip(words[2::2], words[3::2]))
                test["labels"] = properties.get("LABELS", "").split(";")
                test["timeout"] = float(properties.get("TIMEOUT", 600))
                test["environment"] = dict(here(e).split("=", 1) for e in properties.get("ENVIRONMENT", "").split(";") if "=" in e)
    return [test for test in tests.values() if "gpu" in test["labels"]]


# ------------------------------------------------------------------------ runs


def runs_of(test, way, build, ptx):
    """The processes that run a test in this way: one, or its parts. ptx: the tree of libtrine for smaller devices."""
    count = PARTS.get(test["name"], 1)
    parts = [f"{k + 1}/{count}" for k in range(count)] if count > 1 else [""]
    runs = [{**test, "way": way, "build": build, "library": build, "prefix": [], "part": part,
             "environment": {**test["environment"], **setting(way), "TRINE_TEST_PART": part}} for part in parts]
    if way in SHAPES:
        return [{**run, "library": ptx} if SHAPES[way][1] else run for run in runs]
    # API errors that the tests provoke on purpose are not counted: the library checks every call itself.
    prefix = ["compute-sanitizer", "--tool", way, "--error-exitcode", "99", *(["--report-api-errors", "no"] if way == "memcheck" else [])]
    left_out = LARGE_CLUSTERS.get(test["name"]) if way == "synccheck" else None
    prefix += ["--kernel-name-exclude", f"kernel_substring={left_out}"] if left_out else []
    return [{**run, "prefix": prefix, "timeout": 4 * test["timeout"]} for run in runs]


def environment(run):
    result = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", **os.environ}  # programs run side by side
    for name, value in run["environment"].items():
        if value or name not in result:
            result[name] = value
    build, library = run["build"], run["library"]
    if library != build:
        result["CUDA_CACHE_PATH"], result["CUDA_CACHE_MAXSIZE"] = str(library / "compute-cache"), str(2 << 30)
    result.update(run.get("share", {}))
    libraries = [str(library / "lib"), str(build / "lib"), str(ROOT / ".carry/lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    result["LD_LIBRARY_PATH"] = ":".join(entry for entry in libraries if entry)
    return result


class Sharing:
    """CUDA's Multi-Process Service, while a `with` lasts: kernels of several programs run at a time, where else each program waits for its
    turn with every launch. It changes no setting of the device. A fault of one program ends all others that run. Gives what the environment
    of the programs says; nothing without nvidia-cuda-mps-control."""

    CONTROL = "nvidia-cuda-mps-control"

    def __enter__(self):
        self.folder = None
        if not shutil.which(self.CONTROL):
            print(f"there is no {self.CONTROL}: programs take turns on the device")
            return {}
        self.folder = tempfile.mkdtemp(prefix="trine-mps-")
        self.environment = {f"CUDA_MPS_{kind}_DIRECTORY": self.folder for kind in ("PIPE", "LOG")}
        code = subprocess.run([self.CONTROL, "-d"], env={**os.environ, **self.environment}, check=False).returncode
        if code != 0:
            print(f"{self.CONTROL} ends with code {code}: programs take turns on the device")
            self._remove()
            return {}
        return self.environment

    def __exit__(self, *_):
        if self.folder:
            subprocess.run([self.CONTROL], input="quit -t 5\n", env={**os.environ, **self.environment}, text=True, check=False)
            self._remove()

    def _remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None


class Deadline:
    """When all programs that still run are ended."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds
        self.processes = set()
        self.lock = threading.Lock()

    def left(self):
        return self.at - time.monotonic()

    def is_over(self):
        return self.left() <= 0

    def bring_on(self, *_):
        """It is over, also as a handler of signals."""
        self.at = 0
        for process in list(self.processes):
            end(process)

    def begin(self, *arguments, **options):
        """A process that it ends with all that this starts, or None."""
        with self.lock:
            if self.is_over():
                return None
            process = subprocess.Popen(*arguments, start_new_session=True, **options)
            self.processes.add(process)
        return process

    def forget(self, process):
        self.processes.discard(process)


def end(process):
    """With all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def execute(run, deadline):
    """Exit code (None: timed out) and output; None if the deadline ended it, or would do so before the seconds that it is expected to take."""
    if deadline.left() < (run["expected"] or 0):
        return None
    process = deadline.begin([*run["prefix"], *run["command"]], cwd=run["folder"], env=environment(run), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
    if not process:
        return None
    try:
        output, _ = process.communicate(timeout=min(run["timeout"], max(deadline.left(), 0)))
        code = process.returncode
    except subprocess.TimeoutExpired:
        end(process)
        output, code = process.communicate()[0], None
    deadline.forget(process)
    return None if deadline.is_over() else (code, output)


# -------------------------------------------------------------------- outcomes


def matrices_missing(output):
    """Names of the real matrices and recorded systems that a program looked for and did not find."""
    return set(re.findall(r"no (?:real matrix|recorded system) (\w+)", output))


def count_cases(name, code, output):
    """Outcome of every cmocka case of a program's output; a program that is not cmocka's is one case. A case that began and
    did not end, or a bad exit without a failed case, is a failure."""
    cases, started = {}, None
    for match in re.finditer(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (?!\d+ test)(?:setup: |teardown: )?(.+?)\r?$", output, re.MULTILINE):
        outcome, case = match[1], f"{name}: {match[2]}"
        if outcome == "RUN":
            cases[case] = "failed"
        elif case not in cases or started == case:
            cases[case] = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[outcome]
        started = case if outcome == "RUN" else None
    if code == SKIPPED:
        return {name: "skipped"}
    if not cases or (code != 0 and "failed" not in cases.values()):
        cases[name] = "passed" if code == 0 else "failed"
    return cases


def outcome_in_shape(run, results):
    """Of all parts of a program: a case that failed in one of them has failed, and one that was skipped in one of them was skipped."""
    cases = {}
    for code, output in results:
        for case, outcome in count_cases(run["name"], code, output).items():
            cases[case] = min(outcome, cases.get(case, outcome), key=("failed", "skipped", "passed").index)
    named = {kind: sorted(case for case, outcome in cases.items() if outcome == kind) for kind in ("passed", "failed", "skipped")}
    missing = set().union(*(matrices_missing(output) for _, output in results))
    return {"passed": len(named["passed"]), "failed": named["failed"], "skipped": named["skipped"], "missing": sorted(missing),
            "compiled_for": cache_entry(run["library"], "CMAKE_CUDA_ARCHITECTURES"), "flags": cache_entry(run["library"], "CMAKE_CUDA_FLAGS")}


def outcome_of_tool(results):
    """Of all parts of a program, as pairs of exit code and output."""
    found = [re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", output) for _, output in results]
    return {"errors": sum(int(a or b) for counts in found for a, b in counts),
            "unfinished": any(code is None or not counts for (code, _), counts in zip(results, found))}


def outcome_of(run, results):
    """What the record says of a program, from its exit code and output, or those of all its parts."""
    return outcome_in_shape(run, results) if run["way"] in SHAPES else outcome_of_tool(results)


def is_clean(outcome):
    return not (outcome.get("failed") or outcome.get("errors") or outcome.get("unfinished"))


# ---------------------------------------------------------------------- device


def count_gpus():
    try:
        return len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout.strip().split("\n"))
    except (OSError, subprocess.CalledProcessError):
        return 1


def describe_gpu():
    """Name, driver and compute capability of the first GPU; None: there is none."""
    try:
        line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"], capture_output=True,
                              text=True, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return None
    return [field.strip() for field in line.split(",")]
