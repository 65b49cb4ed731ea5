#!/usr/bin/env python3
"""Peers of trine-bench precond: the same systems by SciPy, PyAMG and PETSc, as their users call them.

    bench/precond_peers.py MATRIX... --trine build/release/bin/trine --json bench/results/precond-cpu-2t.jsonl

SciPy: gmres(20) with spilu, the preconditioner on the right by LinearOperators. PyAMG: smoothed aggregation inside CG, or GMRES where A is
not symmetric. PETSc: GMRES with ILU(0) and CG with ICC(0). What spilu drops, levels, orderings and restarts are the libraries' defaults, but for
SciPy's, whose restart is 20 anyway. Each ends at a relative residual of 1e-6, which is computed again here. They need numpy, scipy and pyamg (PyPI)
and petsc4py (Debian's python3-petsc4py); what is missing is a record that says so. trine writes matrices of the gallery; others are in $TRINE_MATRICES.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE, MOST, RUNS, SLOW = 1e-6, 5000, 3, 1.0


def read(name, trine):
    folder = pathlib.Path(os.environ.get("TRINE_MATRICES", ROOT / "../shared/matrices"))
    for path in (pathlib.Path(name), folder / f"{name}.mtx.gz", folder / f"{name}.mtx"):
        if path.is_file():
            return sparse.csr_matrix(scipy.io.mmread(path))
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "a.mtx"
        subprocess.run([trine, "gallery", name, "-o", str(path)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return sparse.csr_matrix(scipy.io.mmread(path))


def timed(call):
    """The least time of up to RUNS calls, and the last result."""
    times = []
    while len(times) < RUNS and sum(times) < SLOW:
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), result, len(times)


# Each peer: (version, set-up A -> state, solve (state, A, b) -> x, iterations).

def scipy_set_up(A):
    return linalg.spilu(A.tocsc())


def scipy_solve(factors, A, b):
    count = [0]

    def step(_):
        count[0] += 1

    AM = linalg.LinearOperator(A.shape, lambda v: A @ factors.solve(v))
    y, _ = linalg.gmres(AM, b, rtol=TOLERANCE, restart=20, maxiter=MOST // 20, callback=step, callback_type="pr_norm")
    return factors.solve(y), count[0]


def pyamg_set_up(A):
    import pyamg
    return pyamg.smoothed_aggregation_solver(A)


def pyamg_solve(levels, A, b):
    residuals = []
    accelerator = "cg" if abs(A - A.T).max() <= 1e-12 * abs(A).max() else "gmres"
    x = levels.solve(b, tol=TOLERANCE, maxiter=MOST if accelerator == "cg" else MOST // 20, accel=accelerator, residuals=residuals)
    return x, len(residuals) - 1


def petsc_set_up(A, solver, preconditioner):
    from petsc4py import PETSc
    matrix = PETSc.Mat().createAIJ(size=A.shape, csr=(A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data))
    matrix.assemble()
    ksp = PETSc.KSP().create()
    ksp.setType(solver)
    ksp.getPC().setType(preconditioner)
    ksp.setOperators(matrix)
    if solver == "gmres":
        ksp.setPCSide(PETSc.PC.Side.RIGHT)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setTolerances(rtol=TOLERANCE, max_it=MOST)
    ksp.setUp()
    return ksp, matrix


def petsc_solve(state, A, b):
    ksp, matrix = state
    x, right = matrix.createVecs()
    right.setArray(b)
    ksp.solve(right, x)
    return x.getArray().copy(), ksp.getIterationNumber()


def version_of(impl):
    if impl == "petsc":
        from petsc4py import PETSc
        return ".".join(map(str, PETSc.Sys.getVersion()))
    return __import__(impl).__version__


PEERS = (("scipy", "gmres+spilu", scipy_set_up, scipy_solve),
         ("pyamg", "smoothed_aggregation", pyamg_set_up, pyamg_solve),
         ("petsc", "gmres+ilu", lambda A: petsc_set_up(A, "gmres", "ilu"), petsc_solve),
         ("petsc", "cg+icc", lambda A: petsc_set_up(A, "cg", "icc"), petsc_solve))


def measure(record, A, set_up, solve):
    n = A.shape[0]
    solution = np.sin(2 * np.pi * 8 * np.arange(n) / n)
    b = A @ solution
    record["version"] = version_of(record["impl"])
    record["setup_ms"], state, _ = timed(lambda: set_up(A))
    record["solve_ms"], (x, record["iterations"]), record["reps"] = timed(lambda: solve(state, A, b))
    record["solve_min_ms"] = record["solve_ms"]
    record["error"] = float(np.linalg.norm(b - A @ x) / np.linalg.norm(b))
    record["forward_error"] = float(np.linalg.norm(x - solution) / np.linalg.norm(solution))
    record["outcome"] = "converged" if record["error"] <= 1.01 * TOLERANCE else "maximum of iterations"
    record["total_ms"] = record["setup_ms"] + record["solve_ms"]
    record["iteration_ms"] = record["solve_ms"] / max(record["iterations"], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--trine", default="trine")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--peers", default="scipy,pyamg,petsc")
    parser.add_argument("--device-name", default=f"cpu-{os.cpu_count()}t")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    for name in arguments.matrices:
        A = read(name, arguments.trine)
        A.sort_indices()
        symmetric = abs(A - A.T).max() <= 1e-12 * abs(A).max()
        for impl, method, set_up, solve in PEERS:
            if impl not in arguments.peers.split(",") or (method.startswith("cg") and not symmetric):
                continue
            empty = ("uplo", "direction", "sweep", "reason", "bytes", "analyse_ms", "numeric_ms", "solve_ms", "solve_min_ms", "error", "copy_gbs")
            record = {"suite": "precond", "matrix": name, "dtype": "d", "op": "N", "impl": impl, "method": method, "chosen": method, "status": "ok",
                      "n": A.shape[0], "nnz": int(A.nnz), "nrhs": 1, "reps": 0, **dict.fromkeys(empty)}
            try:
                measure(record, A, set_up, solve)
            except ImportError as error:
                record.update(status="skipped", reason=str(error))
            except Exception as error:  # whatever a library throws at a matrix is a record
                record.update(status="skipped", reason=f"{impl}: {' '.join(str(error).split())[:200]}")
            record.update(device=arguments.device_name, device_full=f"cpu, {os.cpu_count()} threads", commit=commit,
                          date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
            print(f"{name:24} {impl:6} {method:22} {record.get('outcome', record['reason'])} {record.get('iterations', '-')} steps, "
                  f"set-up {record.get('setup_ms', 0):.2f}, solve {record['solve_ms'] or 0:.2f} ms", flush=True)
            with arguments.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
