"""Preconditioned iterations: times, the fastest, what auto loses, the thesis's claims; from records of trine-bench precond. Used by report.py."""
from report_plots import dot_plot, ok, short, table, unique
from report_splittings import splittings_section

NEAR = 1.5  # auto is good where it takes at most so many times the best
PEERS = {"scipy": "SciPy", "pyamg": "PyAMG", "petsc": "PETSc", "cusparse": "cuSPARSE"}
# How families are called, by the beginning of a method's name.
FAMILIES = (("diagonal", ("none", "diagp", "l1")), ("tridiagonal", ("tridiag", "alg-tri")), ("splittings", ("alt", "mos", "adi")), ("incomplete", ("ilu", "isai")), ("multilevel", ("multilevel",)),
            ("CG, incomplete", ("cg/ic0",)), ("CG, diagonal", ("cg/diag",)), ("CG, multilevel", ("cg/multilevel",)))


def name_of(r):
    return r["method"] if r["impl"] == "trine" else f"{PEERS.get(r['impl'], r['impl'])} {r['method']}"


def solved(records):
    """matrix -> its records that converged."""
    found = {}
    for r in ok(records):
        if not r.get("sweep"):
            found.setdefault(r["matrix"], [])
            if r.get("outcome") == "converged":
                found[r["matrix"]].append(r)
    return found


def is_gmres(r):
    return r["impl"] == "trine" and "/" not in r["method"]


def fastest(records):
    return min(records, key=lambda r: r["total_ms"], default=None)


def cell(r):
    return f"{name_of(r)}, {r['iterations']:.0f} steps, {short(r['total_ms'])}" if r else "-"


def auto_of(records):
    """(auto's record, its time over that of the fastest method with the same solver) or None."""
    mine = [r for r in records if is_gmres(r)]
    auto = next((r for r in mine if r["method"] == "auto"), None)
    return auto and (auto, auto["total_ms"] / fastest([r for r in mine if r is not auto] or [auto])["total_ms"])


def preconditioners(records):
    """The table of the page on which preconditioner to take."""
    lines = []
    for matrix, found in solved(records).items():
        mine = [r for r in found if is_gmres(r) and r["method"] != "auto"]
        n = next(r["n"] for r in records if r["matrix"] == matrix and r["n"])
        auto = auto_of(found)
        splits = fastest([r for r in mine if r["method"].startswith(FAMILIES[2][1])])
        lines.append([f"`{matrix}`", n, cell(fastest(mine)), cell(splits), cell(fastest([r for r in found if "/" in r["method"] and r["impl"] == "trine"])),
                      f"{auto[0]['chosen']}, {short(auto[1])}" if auto else "-", cell(fastest([r for r in found if r["impl"] != "trine"]))])
    peers = [name for impl, name in PEERS.items() if any(r["impl"] == impl for r in records)]
    head = ["matrix", "rows", "fastest with GMRES(20)", "fastest splitting", "fastest with CG", "auto, its time over the fastest's", "fastest of " + " and ".join([", ".join(peers[:-1]), *peers[-1:]]).removeprefix(" and ")]
    return table(head, lines) if lines else ""


def sentence_of_auto(records):
    autos = [auto_of(found) for found in solved(records).values() if found]
    good = sum(bool(a) and a[1] <= NEAR for a in autos)
    return f"`auto` is within {NEAR} of the fastest on {good} of {len(autos)} matrices." if autos else ""


def claims(records):
    lines = [[r["method"], f"`{r['matrix']}`", r["chosen"], r["numbers"]] for r in records if r.get("sweep") == "claims"]
    return table(["claim", "matrix", "", "numbers"], lines).replace("|--:", "|---") if lines else ""


def steps_table(records):
    """Steps of every method on every matrix."""
    methods = unique(name_of(r) for r in records if not r.get("sweep"))
    lines = []
    for matrix in unique(r["matrix"] for r in records if not r.get("sweep")):
        cells = {name_of(r): r for r in records if r["matrix"] == matrix and not r.get("sweep")}
        lines.append([f"`{matrix}`"] + [f"{cells[m]['iterations']:.0f}" if m in cells and cells[m].get("outcome") == "converged" else "-" for m in methods])
    return table(["matrix"] + [f"{m}" for m in methods], lines)


def device_steps(records):
    """Steps on a GPU: who makes the loop, and what of the copy bandwidth they reach."""
    lines = [[f"`{r['matrix']}`", r["method"], r["chosen"], short(1e3 * r["step_ms"]), short(1e3 * r["host_step_ms"]), short(r["host_step_ms"] / r["step_ms"]), short(1e3 * r["apply_ms"] if r.get("apply_ms") else None),
              f"{100 * r['copy_fraction']:.0f} %" if r.get("copy_fraction") else "-", short(r["setup_ms"]), short(r["first_solve_ms"]), short(r["solve_ms"])]
             for r in ok(records) if r.get("host_step_ms") and r.get("step_ms") and not r.get("sweep")]
    return table(["matrix", "method", "chosen", "a step, us", "by the host's loop", "times as fast", "an application, us", "of copy", "set-up, ms", "first solve, ms", "solve, ms"], lines) if lines else ""


def loops(records):
    """Sweep steps: what the loop on the device adds to its kernels, and the same steps by the host's loop."""
    lines = [[f"`{r['matrix']}`", r["method"], str(r["nrhs"]), short(1e3 * r["step_ms"]), short(1e3 * r["kernels_step_ms"]), short(1e3 * (r["step_ms"] - r["kernels_step_ms"])), short(1e3 * r["host_step_ms"]),
              short(r["host_step_ms"] / r["step_ms"]), f"{100 * r['copy_fraction']:.0f} %" if r.get("copy_fraction") else "-"]
             for r in ok(records) if r.get("sweep") == "steps" and r.get("kernels_step_ms")]
    return table(["matrix", "method", "right-hand sides", "a step, us", "its kernels", "above them", "by the host's loop", "times as fast", "of copy"], lines) if lines else ""


def beside_cusparse(records):
    """From the matrix to x, beside the same put together from cuSPARSE and cuBLAS; ">": out of time until then."""
    lines = []
    for matrix in unique(r["matrix"] for r in records if r["impl"] == "cusparse"):
        of = {(r["impl"], r["method"]): r for r in ok(records) if r["matrix"] == matrix and not r.get("sweep")}
        row = [f"`{matrix}`"]
        for own, peer in (("ilu0", "gmres+ilu0"), ("auto", "gmres+ilu0"), ("cg/ic0", "cg+ic0")):
            mine, other = of.get(("trine", own)), of.get(("cusparse", peer))
            texts = [("" if r["outcome"] == "converged" else "> ") + short(r["total_ms"]) if r else "-" for r in (mine, other)]
            ends = mine and other and mine["outcome"] == "converged"
            row += [*texts, ("" if other["outcome"] == "converged" else "> ") + short(other["total_ms"] / mine["total_ms"]) if ends else "-"]
        lines.append(row)
    heads = [head for own in ("GMRES, ilu0", "GMRES, auto", "CG, ic0") for head in (own, "cuSPARSE", "times as fast")]
    return table(["matrix", *heads], lines) if lines else ""


def precond_section(records, name, save):
    text = ("Times are milliseconds from the matrix to x, set-up included. A dash: not converged, or not for this matrix.\n\n" + preconditioners(records) +
            f"\n{sentence_of_auto(records)}\n\n")
    found = solved(records)
    series = {}
    for family, beginnings in FAMILIES:
        best = {matrix: fastest([r for r in of if r["impl"] == "trine" and r["method"].startswith(beginnings)]) for matrix, of in found.items()}
        series[family] = {matrix: r["total_ms"] / fastest(found[matrix])["total_ms"] for matrix, r in best.items() if r}
    text += save(f"{name}-families", dot_plot("The fastest of each kind", "times the time of the fastest of all, set-up included", list(found), series))
    text += "## Steps\n\n" + steps_table(records) + "\n"
    if device_steps(records):
        text += "## Steps on the device\n\nMicroseconds of a step, with the loop made by the device and by the host.\n\n" + device_steps(records) + "\n"
    if loops(records):
        text += "## Loops\n\nMicroseconds of a step, of one right-hand side and of several: by the device's loop, its kernels alone one after another in a graph, and by the host's loop, which reads in each step.\n\n" + loops(records) + "\n"
    if any(r["impl"] == "cusparse" for r in records):
        text += "## Beside cuSPARSE\n\nMilliseconds from the matrix to x; after >: out of time.\n\n" + beside_cusparse(records) + "\n"
    if claims(records):
        text += "## What the thesis claims\n\nSections 4.6 and 5.3 of Klein 2024, as far as matrices for them are here.\n\n" + claims(records) + "\n"
    return text + splittings_section(records, name, save)
