"""Whole solves, from the matrix on, beside other libraries with their own defaults, from records of trine-bench whole. Used by report.py."""
from report_plots import geometric_mean, ok, short, table

NAMES = {"trine": "trine", "cholmod": "CHOLMOD", "superlu": "SuperLU", "umfpack": "UMFPACK", "klu": "KLU", "mumps": "MUMPS", "mkl": "MKL PARDISO", "cudss": "cuDSS"}


def once(r, key, others):
    """The time for one solve, if it was measured; a library other than trine has one way, of which the phases are known all the same."""
    return r.get(key, None if r["impl"] == "trine" else others)


def first(r):
    """trine with its plans; another library's set-up is no other for many solves than for one."""
    return r["setup_ms"] + r["solve_ms"] if r["impl"] == "trine" else once(r, "once_ms", r["setup_ms"] + r["solve_ms"])


# What is compared: its name, the right-hand sides, the time in a record. In "one solve" trine is told that it will be one; of all libraries it is one call,
# since a phase that is called again finds its memory there.
WHAT = (("one solve, from the matrix on", 1, lambda r: once(r, "once_ms", r["setup_ms"] + r["solve_ms"])),
        ("the first of many solves, from the matrix on", 1, first),
        ("new values for one solve", 1, lambda r: once(r, "once_numeric_ms", r["numeric_ms"])),
        ("new values for many", 1, lambda r: r["numeric_ms"]),
        ("a further solve", 1, lambda r: r["solve_ms"]),
        ("a further solve with 32 right-hand sides", 32, lambda r: r["solve_ms"]))
# Which library factors for trine, by the method that it chose.
MADE_BY = {"cholesky": "cholmod", "cholesky-simplicial": "cholmod", "ldl": "cholmod", "lu": "superlu", "lu-umfpack": "umfpack", "lu-klu": "klu"}
ENOUGH = 4  # MiB, below which pages and pools of the process say more than the factor
BESIDE = ("mkl", "mumps")  # shown, and left out of the ratios, which are to the libraries that trine chooses among


def compared(records, nrhs, time):
    """matrix -> impl -> time."""
    times = {}
    for r in ok(records):
        if r["nrhs"] == nrhs and time(r) is not None:
            times.setdefault(r["matrix"], {})[r["impl"]] = time(r)
    return times


def ratios(times):
    """matrix -> (the fastest other library, its time over trine's)."""
    found = {}
    for matrix, of in times.items():
        others = {impl: t for impl, t in of.items() if impl != "trine" and impl not in BESIDE}
        if "trine" in of and others:
            best = min(others, key=others.get)
            found[matrix] = best, others[best] / of["trine"]
    return found


def whole_section(records, name, save):
    text = ("Set-up is ordering and factorization, and for trine the plans of its own triangular solves; each library runs with its own defaults. The "
            "ratio is the time of the fastest of CHOLMOD, SuperLU, UMFPACK, KLU and on a GPU cuDSS over trine's: below 1 trine is slower. MUMPS and MKL PARDISO are beside.\n\n")
    for what, nrhs, time in WHAT:
        times = compared(records, nrhs, time)
        best = ratios(times)
        impls = [impl for impl in NAMES if any(impl in of for of in times.values())]
        if not best:
            continue
        rows = [[f"`{matrix}`"] + [short(of.get(impl)) for impl in impls] + ([NAMES[best[matrix][0]], f"{best[matrix][1]:.2f}"] if matrix in best else ["-", "-"])
                for matrix, of in times.items()]
        values = [ratio for _, ratio in best.values()]
        slower = sum(ratio < 1 for ratio in values)
        text += (f"## {what[0].upper()}{what[1:]}\n\nMilliseconds. " + table(["matrix"] + [NAMES[impl] for impl in impls] + ["fastest of these", "its time over trine's"], rows) +
                 f"\nGeometric mean of {len(values)} matrices: {geometric_mean(values):.2f}; least {min(values):.2f}; trine is slower on {slower} of them.\n\n").replace("Milliseconds. |", "Milliseconds.\n\n|")
    peaks, peaks_once = {}, {}
    for r in ok(records):
        if r["nrhs"] == 1 and r.get("peak_mib"):
            peaks.setdefault(r["matrix"], {})[r["impl"]] = r["peak_mib"] - r["peak_before_mib"]
            if "once_peak_mib" in r:
                peaks_once[r["matrix"]] = r["once_peak_mib"]
    impls = [impl for impl in NAMES if any(impl in of for of in peaks.values())]
    if peaks:
        chosen = {r["matrix"]: MADE_BY.get(r["chosen"]) for r in ok(records) if r["impl"] == "trine"}
        over = {matrix: of["trine"] / of[chosen[matrix]] for matrix, of in peaks.items() if of.get("trine") and of.get(chosen.get(matrix)) and of[chosen[matrix]] >= ENOUGH}
        text += ("## Memory\n\nMiB that the process had more at its peak in the set-up than before it; trine's beside the library that factored for it, where that takes "
                 f"{ENOUGH} MiB or more.\n\n" +
                 table(["matrix"] + [NAMES[impl] for impl in impls] + ["trine's over its library's"],
                       [[f"`{matrix}`"] + [short(of.get(impl)) for impl in impls] + [f"{over[matrix]:.2f}" if matrix in over else "-"] for matrix, of in peaks.items()]) + "\n")
        if over:
            text += f"Geometric mean of {len(over)} matrices: {geometric_mean(list(over.values())):.2f}; most {max(over.values()):.2f}.\n\n"
            single = [peaks_once[matrix] / peaks[matrix][chosen[matrix]] for matrix in over if peaks_once.get(matrix)]
            if single:
                text += f"For one solve, {len(single)} matrices: {geometric_mean(single):.2f}; most {max(single):.2f}.\n\n"
    return text


def which_method(records):
    """Which factorization was taken for which matrix, with the times for one solve beside those of the other libraries."""
    times = compared(records, 1, WHAT[0][2])
    best = ratios(times)
    order = list(MADE_BY)
    own = sorted((r for r in ok(records) if r["impl"] == "trine" and r["nrhs"] == 1), key=lambda r: (order.index(r["chosen"]) if r["chosen"] in order else len(order), r["nnz"]))
    lines = [[f"`{r['matrix']}`", r["n"], r["nnz"], f"`{r['chosen']}`", r.get("solver", "-"), short(times[r["matrix"]]["trine"]) if "trine" in times.get(r["matrix"], {}) else "-"] +
             ([NAMES[best[r["matrix"]][0]], short(times[r["matrix"]][best[r["matrix"]][0]])] if r["matrix"] in best else ["-", "-"]) for r in own]
    return table(["matrix", "rows", "entries", "factored by", "many solves by", "one solve, ms", "fastest other library", "its ms"], lines) if lines else ""


def beside_cudss(records):
    """On a GPU: a further solve and new values, trine's and cuDSS's."""
    found = {}
    for r in ok(records):
        found.setdefault(r["matrix"], {})[r["impl"], r["nrhs"]] = r
    lines = []
    for matrix, of in found.items():
        for nrhs in (1, 32):
            own, peer = of.get(("trine", nrhs)), of.get(("cudss", nrhs))
            if own and peer:
                lines.append([f"`{matrix}`", nrhs, f"`{own['chosen']}`"] + [short(r[key] * scale) for key, scale in (("solve_ms", 1000), ("setup_ms", 1), ("numeric_ms", 1)) for r in (own, peer)])
    return table(["matrix", "right-hand sides", "factored by", "a solve, us", "cuDSS", "set-up, ms", "cuDSS", "new values, ms", "cuDSS"], lines) if lines else ""


def whole_rows(groups, device):
    """Titles and ratios for the README's table."""
    rows = []
    for what, nrhs, time in WHAT:
        values = [ratio for _, ratio in ratios(compared(groups.get(("whole", device), []), nrhs, time)).values()]
        if values:
            rows.append((f"{what}, the fastest of CHOLMOD, SuperLU, UMFPACK and KLU, {len(values)} matrices", values))
    return rows
