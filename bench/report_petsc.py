"""Sub-solvers inside PETSc, and what the time of a step is made of, from records of petsc/bench/table. Used by report.py."""
import math

from report_plots import geometric_mean, ok, scatter_plot, short, table, unique

NAMES = {"petsc": "PETSc's own", "mumps": "MUMPS", "superlu": "SuperLU", "umfpack": "UMFPACK", "klu": "KLU", "trine": "trine"}
OWN = {"lu": ("petsc", "lu"), "direct": ("petsc", "lu"), "ilu0": ("petsc", "ilu0"), "ilu0 as MatSolverType": ("petsc", "ilu0")}
WHAT = (("set-up", lambda r: r["setup_ms"]), ("new values", lambda r: r["numeric_ms"]), ("solve", lambda r: r["solve_min_ms"]),
        ("set-up and solve", lambda r: r["setup_ms"] + r["solve_min_ms"]), ("one application of the sub-solver", lambda r: r["apply_ms"]))
RESTART, BUSY = 30, 0.2
# What nobody measured here: a network for the prediction. Seconds of a message, bytes a second of a node.
LATENCY, NETWORK = 2e-6, 12.5e9
NODES = (1, 8, 64, 512, 1000)
COARSE = 8  # unknowns of a rank's part in the coarse problem


def kind(r):
    return r["impl"], r["method"]


def label(key):
    impl, method = key
    return f"{NAMES.get(impl, impl)} {method.replace('lu', 'LU').replace('iLU0', 'ILU(0)')}" if impl != "trine" else {
        "ilu0": "trine ILU(0)", "direct": "trine direct", "lu": "trine LU", "ilu0 as MatSolverType": "trine ILU(0), MatSolverType"}[method]


def converged(records):
    return [r for r in ok(records) if r.get("outcome") == "converged"]


def main_records(records):
    return [r for r in records if not r.get("sweep")]


def by_matrix(records):
    """matrix -> (impl, method) -> record, of those that converged."""
    found = {}
    for r in converged(main_records(records)):
        found.setdefault(r["matrix"], {})[kind(r)] = r
    return found


def sub_solvers(records):
    """The table of every matrix: a line a sub-solver."""
    lines = []
    for r in main_records(records):
        if r["status"] != "ok":
            lines.append([f"`{r['matrix']}`", label(kind(r))] + ["-"] * 7)
            continue
        memory = r["peak_mib"] - r["peak_before_mib"]
        lines.append([f"`{r['matrix']}`", label(kind(r)), f"{r['iterations']}" if r["outcome"] == "converged" else "-", short(r["setup_ms"]), short(r["factor_ms"]), short(r["numeric_ms"]), short(r["solve_min_ms"]),
                      short(r.get("apply_ms")), short(memory)])
    return table(["matrix", "sub-solver", "steps", "set-up", "its numeric part", "new values", "solve", "one application", "memory, MiB"], lines) if lines else ""


def speeds(records):
    """How many times as fast as PETSc's own every sub-solver is, geometric means."""
    found, lines = by_matrix(records), []
    for key in unique(kind(r) for r in main_records(records)):
        base = OWN.get(key[1])
        pairs = [(of[base], of[key]) for of in found.values() if key in of and base in of and "apply_ms" in of[key] and "apply_ms" in of[base]]
        if key == base or not pairs:
            continue
        means = [geometric_mean([time(own) / time(r) for own, r in pairs]) for _, time in WHAT]
        least = min(WHAT[3][1](own) / WHAT[3][1](r) for own, r in pairs)
        lines.append([label(key), label(base), len(pairs)] + [f"{mean:.2f}" for mean in means] + [f"{least:.2f}"])
    return table(["sub-solver", "beside", "matrices"] + [what for what, _ in WHAT] + ["least of set-up and solve"], lines) + disturbed(records, None) if lines else ""


def disturbed(records, sweep):
    """How many runs had other programs beside them all the same: two ranks then wait for each other."""
    timed = [r for r in ok(records) if r.get("sweep") == sweep]
    beside = sum(r.get("others", 0) >= BUSY for r in timed)
    return f"\n{beside} of {len(timed)} runs had other programs beside them, which had {BUSY} cores or more.\n" if beside else ""


# ------------------------------------------------------------- time of a step


def mean_basis(steps):
    """Vectors in the basis of a step of GMRES(30), on average."""
    return sum(step % RESTART + 1 for step in range(steps)) / max(steps, 1)


def step_bytes(r):
    """What a step reads and writes in all ranks together, without the sub-solver: product, classical Gram-Schmidt once, norm and copies."""
    n = r["n"]
    return 12 * r["nnz"] + 20 * n + 8 * n * (2 * mean_basis(r["iterations"]) + 5)


def ilu_bytes(r):
    """The two triangles of ILU(0), offsets, right-hand side and solution."""
    return 12 * r["nnz"] + 8 * r["n"] + 24 * r["n"]


def fit_line(points):
    """(x, y) -> (a, b): y = a + b x with the least sum of squared relative errors, a not negative."""
    weights = [1 / y ** 2 for _, y in points]
    s = sum(weights)
    sx, sy = (sum(w * p[i] for w, p in zip(weights, points)) for i in (0, 1))
    sxx = sum(w * x * x for w, (x, _) in zip(weights, points))
    sxy = sum(w * x * y for w, (x, y) in zip(weights, points))
    b = (s * sxy - sx * sy) / (s * sxx - sx * sx)
    a = (sy - b * sx) / s
    return (a, b) if a >= 0 else (0.0, sxy / sxx)


def fit_power(points):
    """(x, y) -> (c, p): y = c x^p, by least squares of logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mx, my = (sum(p[i] for p in logs) / len(logs) for i in (0, 1))
    power = sum((x - mx) * (y - my) for x, y in logs) / sum((x - mx) ** 2 for x, _ in logs)
    return math.exp(my - power * mx), power


def of_sweep(records, sweep, impl, method, ranks=None):
    return [r for r in converged(records) if r.get("sweep") == sweep and kind(r) == (impl, method) and (ranks is None or r["ranks"] == ranks)]


def step_ms(r):
    return r["solve_min_ms"] / r["iterations"]


def step_model(records):
    """(solver, ranks) -> (ms that a step takes at least, ms a byte, the largest relative error)."""
    models = {}
    for impl in ("petsc", "trine"):
        for method in ("ilu0", "ilu0 as MatSolverType"):
            for ranks in (1, 2):
                points = [(step_bytes(r) + ilu_bytes(r), step_ms(r)) for r in of_sweep(records, "model", impl, method, ranks)]
                if len(points) > 2:
                    a, b = fit_line(points)
                    models[(impl, method, ranks)] = a, b, max(abs((a + b * x) / y - 1) for x, y in points)
    return models


def table_of_steps(records):
    copies = {ranks: max((r["copy_gbs"] for r in ok(records) if r.get("sweep") == "model" and r["ranks"] == ranks), default=None) for ranks in (1, 2)}
    lines = [[label((impl, method)), ranks, short(1e3 * a), short(1e-6 / b), short(copies[ranks]), f"{100 * error:.0f} %"]
             for (impl, method, ranks), (a, b, error) in step_model(records).items()]
    return table(["sub-solver", "ranks", "a step at least, us", "bytes of a step, GB/s", "copy, GB/s", "largest error of the fit"], lines) + disturbed(records, "model") if lines else ""


def direct_model(records, impl="trine", method="lu"):
    """What a direct solve of a 3-D part takes: name -> (c, p) of c n^p, n the unknowns of a rank."""
    found = of_sweep(records, "model", impl, method)
    whats = {"set-up, ms": lambda r: r["setup_ms"], "one application, ms": lambda r: r["apply_ms"], "memory, MiB": lambda r: (r["peak_mib"] - r["peak_before_mib"]) / r["ranks"]}
    return {name: fit_power([(r["n"] / r["ranks"], what(r)) for r in found if what(r) > 0]) for name, what in whats.items()} if len(found) > 2 else {}


THEORY = {"set-up, ms": "n^2", "one application, ms": "n^(4/3)", "memory, MiB": "n^(4/3)"}


def table_of_direct(records):
    lines = []
    for impl in ("petsc", "trine"):
        for what, (c, p) in direct_model(records, impl).items():
            lines.append([label((impl, "lu")), what, f"n^{p:.2f}", THEORY[what], short(c * 1e5 ** p)])
    return table(["sub-solver", "what", "fitted", "nested dissection", "at 10^5 unknowns a rank"], lines) if lines else ""


WAYS = {"bjacobi+ilu0": "block Jacobi, ILU(0)", "bjacobi+lu": "block Jacobi, LU", "asm+lu": "additive Schwarz, overlap 1, LU", "gamg": "algebraic multigrid (gamg)"}


def growth(records, way):
    """(c, p) of c P^p steps with P ranks, from 8 ranks on."""
    points = [(r["ranks"], r["iterations"]) for r in of_sweep(records, "schwarz", "petsc", way) if r["ranks"] >= 8]
    return fit_power(points) if len(points) > 2 else None


def table_of_schwarz(records):
    found = {way: {r["ranks"]: r["iterations"] for r in of_sweep(records, "schwarz", "petsc", way)} for way in WAYS}
    ranks = sorted({p for of in found.values() for p in of})
    lines = [[WAYS[way]] + [of.get(p, "-") for p in ranks] + [f"P^{growth(records, way)[1]:.2f}" if growth(records, way) else "-"] for way, of in found.items()]
    return table(["steps, by ranks"] + [str(p) for p in ranks] + ["grow as"], lines) if ranks else ""


def prediction(records):
    """nodes -> what is expected there; nodes of two ranks like this one, each rank with the largest part that the sweep has."""
    model = step_model(records).get(("trine", "ilu0", 2))
    measured = max(of_sweep(records, "model", "trine", "ilu0", 2), key=lambda r: r["n"], default=None)
    one, two, direct = growth(records, "bjacobi+ilu0"), growth(records, "gamg"), direct_model(records)
    if not (model and measured and one and two and direct):
        return {}
    part = measured["n"] / measured["ranks"]
    face = part ** (2 / 3)
    local = 1e-3 * (model[0] + model[1] * (step_bytes({**measured, "iterations": 10 * RESTART}) + ilu_bytes(measured)))
    found = {}
    for nodes in NODES:
        ranks = 2 * nodes
        halo = 6 * LATENCY + 2 * 6 * 8 * face / NETWORK if nodes > 1 else 0
        reductions = 2 * 2 * math.ceil(math.log2(nodes)) * LATENCY if nodes > 1 else 0
        coarse_n = COARSE * ranks
        c, p = direct["one application, ms"]
        coarse = 1e-3 * c * coarse_n ** p + 2 * math.ceil(math.log2(ranks)) * LATENCY + 2 * 8 * coarse_n / NETWORK
        c, p = direct["set-up, ms"]
        found[nodes] = {"n": part * ranks, "steps": measured["iterations"] * nodes ** one[1], "local": local, "halo": halo, "reductions": reductions, "coarse": coarse, "coarse_n": coarse_n,
                        "coarse_set_up": 1e-3 * c * coarse_n ** p, "steps_two": two[0] * ranks ** two[1]}
    return found


def table_of_prediction(records):
    lines = [[nodes, f"{f['n']:.2g}", f"{f['steps']:.0f}", short(1e3 * f["local"]), short(1e3 * f["halo"]), short(1e3 * f["reductions"]), short(f["steps"] * (f["local"] + f["halo"] + f["reductions"])),
              f["coarse_n"], short(1e3 * f["coarse"]), short(1e3 * f["coarse_set_up"]), f"{f['steps_two']:.0f}"]
             for nodes, f in prediction(records).items()]
    return table(["nodes", "unknowns", "steps, one level", "a step: local, ms", "halo, ms", "reductions, ms", "all steps, s", "coarse unknowns", "coarse solve, ms", "coarse set-up, ms", "steps, multigrid"], lines) if lines else ""


def sentence_of_network():
    return f"Assumed, not measured: {1e6 * LATENCY:.0f} us for a message, {1e-9 * NETWORK:g} GB/s for a node, {COARSE} coarse unknowns a rank."


PHASES = (("product", "product_ms"), ("waiting for halos", "halo_ms"), ("sub-solves", "precondition_ms"), ("orthogonalization", "orthogonalize_ms"), ("norms", "normalize_ms"))


def table_of_scaling(records):
    """Weak and strong scaling on GPUs: a line a run, with the share of every phase in the solve."""
    lines = []
    for sweep, grid in (("weak", "the same for each GPU"), ("strong", "one for all")):
        for r in sorted((r for r in converged(records) if r.get("sweep") == sweep), key=lambda r: (r["method"].split(" on ")[1] != "cuda", r["method"], r["n"], r["ranks"])):
            lines.append([grid, f"{1e-6 * r['n']:.2f}", f"{NAMES[r['impl']]} {r['method']}", r["ranks"], r["iterations"], short(r["setup_ms"]), short(r["solve_min_ms"]), short(step_ms(r)), short(r["apply_ms"])] +
                         [f"{100 * r[key] / r['solve_min_ms']:.0f} %" for _, key in PHASES])
    return table(["grid", "million unknowns", "sub-solver", "ranks", "steps", "set-up, ms", "solve, ms", "a step, ms", "one application, ms"] + [name for name, _ in PHASES], lines) if lines else ""


def steps_plot(records):
    series = {WAYS[way]: [(r["ranks"], r["iterations"]) for r in of_sweep(records, "schwarz", "petsc", way)] for way in WAYS}
    return scatter_plot("Steps of GMRES(30), 1000 unknowns a rank", "ranks", "steps to 1e-8", {name: points for name, points in series.items() if points}, lines=True,
                        x_ticks=lambda low, high: [(2 ** e, str(2 ** e)) for e in range(8) if low <= 2 ** e <= high]) if any(series.values()) else None


def petsc_section(records, name, save):
    text = ("GMRES(30), block Jacobi on the right with one block a rank, until the residual is 1e-8 of |b|. Milliseconds; a dash: not converged, or ended by an error. "
            "Memory is what the ranks together had more at their peak in the first set-up than before it.\n\n")
    if speeds(records):
        text += "## Beside PETSc's own\n\nTimes of PETSc's own sub-solver over those of the other, geometric means.\n\n" + speeds(records) + "\n"
    if sub_solvers(records):
        text += "## Every matrix\n\n" + sub_solvers(records) + "\n"
    for title, made in (("Time of a step", table_of_steps(records)), ("Direct solves of a part", table_of_direct(records)), ("Steps with many ranks", table_of_schwarz(records))):
        text += f"## {title}\n\n{made}\n" if made else ""
    if table_of_scaling(records):
        text += "## On GPUs\n\n" + table_of_scaling(records) + "\n"
    text += save(f"{name}-steps", steps_plot(records))
    if prediction(records):
        text += f"## Predicted\n\n{sentence_of_network()}\n\n{table_of_prediction(records)}\n"
    return text
