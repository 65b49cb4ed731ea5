#!/usr/bin/env python3
"""Starts a program of PETSc on some ranks, with libtrine_petsc loaded: launch.py RANKS LIBRARY PROGRAM [OPTIONS...]

The program fails if its exit code is not 0, if it does not end in time, if memory of PETSc is left at its end (-malloc_dump), or if
an option of trine was not used (-options_left). Exit code 77 where there is no mpiexec.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SECONDS = 120  # for a program that takes a few
# As root, as in a container; more ranks than processors; shared memory that containers refuse; no colours or notices.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_MCA_plm_rsh_agent": "",
}


def environment(**more):
    return dict(os.environ, **OPEN_MPI, OMP_NUM_THREADS="1", **more)


def command(ranks, program):
    """One rank needs no mpiexec, and is a process that a sanitizer can follow."""
    return [program] if ranks == 1 else [shutil.which("mpiexec"), "-n", str(ranks), program]


def run(words, seconds=SECONDS, **more):
    """Exit code and output; None for a program that did not end."""
    with tempfile.TemporaryFile("w+") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=environment(**more), start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        file.seek(0)
        return code, file.read()


def loaded(library):
    return ["-dll_append", library, "-malloc_debug", "-malloc_dump", "-options_left"]


def complaints(code, output):
    """What is wrong with a program that should end well."""
    found = []
    if code is None:
        found.append("it did not end")
    elif code:
        found.append(f"exit code {code}")
    if re.search(r"^\[ *\d+\] ?\d+ bytes ", output, re.M) or "Total space allocated" in output:
        found.append("memory of PETSc is left")
    found += [f"an option was not used: {line}" for line in re.findall(r"^Option left: .*trine.*$", output, re.M)]
    return found


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    ranks, library, program = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if ranks > 1 and not shutil.which("mpiexec"):
        print("skipped: there is no mpiexec")
        return 77
    code, output = run(command(ranks, program) + sys.argv[4:] + loaded(library))
    output = re.sub(r"^#PETSc Option Table entries:\n(-.*\n)*#End.*\n", "", output, flags=re.M)  # of -options_left
    print(re.sub(r"^.*Configure options.*\n", "", output, flags=re.M))
    found = complaints(code, output)
    for sentence in found:
        print(f"FAILED: {sentence}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
