"""Tridiagonal, block tridiagonal and banded solves, from records of trine-bench tridiag, and the tables of trine-bench
tridiag-numerics. Used by report.py."""
from report_plots import DTYPES, ok, powers_of_two, scatter_plot, short, solver, table, unique


def name_of(r):
    """As series are called: trine's default is trine."""
    return "trine" if solver(r) == "auto" else solver(r)


def draw(series, name, save, title, x_axis, y_axis, **how):
    """name -> [(x, y)], neighbours joined; over rows or right-hand sides, if nothing else is said."""
    series = {s: sorted(point for point in points if all(point)) for s, points in series.items()}
    series = {s: points for s, points in series.items() if points}
    return save(name, scatter_plot(title, x_axis, y_axis, series, **{"lines": True, "x_ticks": powers_of_two, **how})) if series else ""


def figure(records, name, save, title, x, x_axis, y, y_axis, **how):
    """Series of (x, y) by solver."""
    return draw({s: [(x(r), y(r)) for r in records if name_of(r) == s] for s in unique(map(name_of, records))}, name, save, title, x_axis, y_axis, **how)


def pivot_table(records, row_of, row_title, value, note=""):
    """A line for each row_of(record), a column for each solver."""
    rows, solvers = unique(map(row_of, records)), unique(map(name_of, records))
    at = {(row_of(r), name_of(r)): value(r) for r in records}
    return note + table([row_title] + solvers, [[str(row)] + [at.get((row, s), "-") for s in solvers] for row in rows]) + "\n"


def power(n):
    """2^k where n is one, or one less or two less: blocks of 3 leave a row or two."""
    k = (n + 2).bit_length() - 1
    return f"2^{k}" if 2 ** k - n in (0, 1, 2) and n > 6 else str(n)


def microseconds(r):
    return short(1e3 * r["solve_ms"], 4)


def with_error(r):
    error = r.get("error")
    return f"{microseconds(r)} ({error:.0e})" if error is not None else microseconds(r)


def precision(records):
    return DTYPES[records[0]["dtype"]]


RATE = "10^9 rows a second"
RATE_OF_ALL = "10^9 rows a second, all right-hand sides"


def rate(r):
    return r.get("grows_per_second")


def sizes(records, name, save):
    text = ""
    for stem, value, axis in (("", rate, RATE), ("-copy", lambda r: r.get("copy_fraction"), "part of the copy bandwidth, 9 elements a row")):
        text += figure(records, f"{name}-figure12{stem}", save, f"gtsv, {precision(records)} (Figure 12, right)", lambda r: r["n"], "rows", value, axis)
    return text + pivot_table(records, lambda r: power(r["n"]), "rows", with_error, "Microseconds a solve, and the largest componentwise backward error:\n\n")


def kernels(records, name, save):
    text = figure(records, f"{name}-figure12-kernels", save, f"Kernels of the two passes, {precision(records)} (Figure 12, left)", lambda r: r["n"], "rows",
                  lambda r: r.get("gbs"), "GB/s", from_zero=True)
    return text + pivot_table(records, lambda r: power(r["n"]), "rows", lambda r: short(r["gbs"], 4), "GB/s of the kernels, of the same accesses without arithmetic, and of a copy kernel:\n\n")


def last_stages(records, name, save):
    """Times, and how much faster than one thread at the end of stages whose partitions are not chosen for each."""
    cyclic = "cyclic" in records[0]["problem"]
    stem, label = f"{name}-figure13" + ("-cyclic" if cyclic else ""), "Last stages of cyclic systems" if cyclic else "Last stages"
    text = figure(records, stem, save, f"{label}, {precision(records)} (Figure 13, right)", lambda r: r["n"], "rows", rate, RATE)
    base = next((m for m in ("one-thread:M=32", "one-thread") if any(r["method"] == m for r in records)), None)
    of_base = {r["n"]: r["solve_ms"] for r in records if r["method"] == base}
    text += figure([r for r in records if r["method"] not in (base, "auto")], f"{stem}-speedup", save, f"{label}, {precision(records)} (Figure 13, left)", lambda r: r["n"], "rows",
                   lambda r: of_base[r["n"]] / r["solve_ms"] if r["n"] in of_base else None, f"times as fast as {base}", from_zero=True)
    return text + pivot_table(records, lambda r: power(r["n"]), "rows", microseconds, "Microseconds (trine: not by stages):\n\n")


def over_rows(stem, label, in_time=False):
    """A part whose throughput, or times, are shown over n."""
    def make(records, name, save):
        value, axis = (lambda r: 1e3 * r["solve_ms"], "microseconds") if in_time else (rate, RATE_OF_ALL)
        text = figure(records, f"{name}-{stem}", save, f"{label}, {precision(records)}", lambda r: r["n"], "rows of a system", value, axis)
        return text + pivot_table(records, lambda r: power(r["n"]), "rows", microseconds, "Microseconds:\n\n")
    return make


def right_hand_sides(records, name, save):
    """Over their number for the longest system, and over rows for each number: dense ones and sparse ones."""
    largest = max(r["n"] for r in records)
    text = figure([r for r in records if r["n"] == largest], f"{name}-figure15", save, f"Right-hand sides, {power(largest)} rows, {precision(records)} (Figure 15)",
                  lambda r: r["nrhs"], "right-hand sides", rate, RATE_OF_ALL)
    for method, stem, what in (("auto", "rows", "dense"), ("csc2dense", "sparse", "sparse")):
        of_method = [r for r in records if r["method"] == method]
        if len(unique(r["n"] for r in of_method)) > 1:
            text += draw({f"n_r = {k}": [(r["n"], rate(r)) for r in of_method if r["nrhs"] == k] for k in unique(r["nrhs"] for r in of_method)},
                         f"{name}-figure15-{stem}", save, f"{what.capitalize()} right-hand sides, {precision(records)} (Figure 15)", "rows", RATE_OF_ALL)
    return text + pivot_table(records, lambda r: f"{power(r['n'])} x {r['nrhs']}", "rows x right-hand sides", microseconds, "Microseconds:\n\n")


def blocks(records, name, save):
    many = [r for r in records if r["method"].split(":")[0] != "bgtf" and r["nrhs"] > 1]
    largest = max((r["n"] for r in many), default=0)
    text = figure([r for r in records if r["n"] == largest and r["method"].split(":")[0] != "bgtf"], f"{name}-figure16-{records[0]['problem'].split()[-1]}", save,
                  f"{records[0]['problem'].capitalize()}, {power(largest)} rows, {precision(records)} (Figure 16)", lambda r: r["nrhs"], "right-hand sides", rate, RATE_OF_ALL)
    return text + pivot_table(records, lambda r: f"{power(r['n'])} x {r['nrhs']}", "rows x right-hand sides", microseconds, "Microseconds:\n\n")


def factorizations(records, name, save):
    """bgtf beside one solve with its factors, blocks of 2 to 4."""
    chosen = [r for r in records if r["nrhs"] == 1 and r["method"] in ("bgtf", "bgtfs")]
    return draw({f"{method}, n = {problem.split()[-1]}": [(r["n"], rate(r)) for r in chosen if (r["method"], r["problem"]) == (method, problem)]
                 for problem in unique(r["problem"] for r in chosen) for method in ("bgtf", "bgtfs")},
                f"{name}-figure17", save, f"Factorizations of blocks and solves with them, {precision(records)} (Figure 17)", "rows", RATE)


def partitions(records, name, save):
    text = ""
    for nrhs in unique(r["nrhs"] for r in records):
        asked = [r for r in records if r["method"].startswith("M=") and r["nrhs"] == nrhs]
        count = "one right-hand side" if nrhs == 1 else f"{nrhs} right-hand sides"
        text += draw({"trine, stages": [(int(r["method"][2:]), rate(r)) for r in asked]}, f"{name}-partitions{'' if nrhs == 1 else f'-{nrhs}'}", save,
                     f"Rows of a partition, {count}, {precision(records)}", "rows of a partition", RATE, x_ticks=lambda low, high: [(m, str(m)) for m in range(16, 65, 8)], from_zero=True)
    return text + pivot_table(records, lambda r: f"{power(r['n'])} x {r['nrhs']}", "rows x right-hand sides", microseconds,
                              "Microseconds by the rows of a partition (trine: by tiles):\n\n")


def block_partitions(records, name, save):
    return pivot_table(records, lambda r: f"{r['problem'].split()[-1]}, {power(r['n'])}", "rows of a block, rows", microseconds,
                       "Microseconds of bgtsv by the block rows of a partition (bgtsv: chosen by it):\n\n")


def as_table(row_title="rows"):
    return lambda records, name, save: pivot_table(records, lambda r: power(r["n"]), row_title, with_error, "Microseconds (backward error):\n\n")


def of_copy(records, name, save):
    def cell(r):
        return microseconds(r) + (f", {100 * r['copy_fraction']:.0f}% of copy" if r["method"] == "two-pass" else f", {100 * r['copy_fraction_one_pass']:.0f}%" if r["method"] == "one-pass" else "")
    return pivot_table(records, lambda r: power(r["n"]), "rows", cell, "Microseconds, and 9 elements a row (one pass: 5) as a part of the copy bandwidth:\n\n")


def tile_of(r):
    return "N" if r["systems"] == 1 else str(r["n"])


def bands(records, name, save):
    """Each number of bands beside LAPACK, and everything that solves pentadiagonal systems; over all rows."""
    def points(problem, solver_name, tile):
        return [(r["n"] * r["systems"], rate(r)) for r in records if r["problem"].endswith(problem) and solver(r) == solver_name and tile_of(r) == tile]

    text = draw({f"{'trine' if s == 'auto' else 'LAPACK'}, kl = ku = {k}": points(f"kl=ku={k}", s, "N") for s in ("auto", "lapack gbsv") for k in range(1, 5)},
                f"{name}-figure18", save, f"Banded systems, {precision(records)} (Figure 18)", "rows", RATE)
    peers = {"trine": ("auto", "N"), "LAPACK": ("lapack gbsv", "N")}
    peers |= {f"gpsv, tile {t}": ("cusparse gpsvInterleavedBatch", t) for t in ("8", "64", "512", "N")}
    peers |= {f"ILU(0), tile {t}": ("cusparse csrilu02+SpSV", t) for t in ("64", "N")}
    text += draw({label: points("kl=ku=2", *peer) for label, peer in peers.items()}, f"{name}-figure18-pentadiagonal", save,
                 f"Pentadiagonal systems, {precision(records)} (Figure 18)", "rows in all", RATE)
    return text + pivot_table(records, lambda r: f"{r['problem'].split()[-1]}, {power(r['n'] * r['systems'])}, tile {tile_of(r)}", "bands, rows in all, rows of a system", with_error,
                              "Microseconds (backward error). cuSPARSE's peers solve without pivoting; csrilu02+SpSV: two solves with the factors of csrilu02:\n\n")


WORKSPACE = ("gtsv", "32 right-hand sides", "right-hand sides", "blocks of 2", "blocks of 3", "blocks of 4", "gbsv kl=ku=1", "gbsv kl=ku=2", "gbsv kl=ku=3", "gbsv kl=ku=4", "sparse",
             "batch interleaved", "batch contiguous")


def workspace(records, name, save):
    """What solvers ask for beyond A, D and X, over the bytes of A and D."""
    chosen = [r for r in records if r.get("work_bytes") is not None and r["nnz"] and r["impl"] != "lapack"]

    def percent(r):
        element = 4 if r["dtype"] == "s" else 8
        return 100 * r["work_bytes"] / (element * (r["nnz"] + r["n"] * r["systems"] * r["nrhs"]))

    scalar = [r for r in chosen if r["problem"] in WORKSPACE[:3] and solver(r) == "auto" and r["n"] >= 2 ** 16]
    note = "Workspace in percent of the bytes of A and of D (scalar: N (n_r + 3) elements); bgtf: with the factorization.\n\n"
    if scalar:
        note += f"The most of gtsv for 2^16 rows and more, with 1 to {max(r['nrhs'] for r in scalar)} right-hand sides: {short(max(map(percent, scalar)))} %.\n\n"
    def size_of(r):
        return (f"{r['systems']} x " if r["systems"] > 1 else "") + power(r["n"]) + (f", {r['nrhs']} right-hand sides" if r["nrhs"] > 1 else "")

    lines = []
    for problem, who in unique((r["problem"], name_of(r)) for r in chosen):
        of_both = sorted((r for r in chosen if (r["problem"], name_of(r)) == (problem, who)), key=lambda r: r["n"] * r["nrhs"])
        least, most = of_both[0], of_both[-1]
        lines.append([problem, who, size_of(least), short(percent(least)), size_of(most), short(percent(most))])
    return note + table(["problem", "solver", "smallest", "%", "largest", "%"], lines) + "\n"


PARTS = [
    ("One right-hand side (Figure 12, right)", ("gtsv",), sizes),
    ("Kernels (Figure 12, left)", ("kernel",), kernels),
    ("Two passes and one", ("passes",), of_copy),
    ("Last stages (Figure 13)", ("final stage",), last_stages),
    ("Last stages of cyclic systems", ("final stage, cyclic",), last_stages),
    ("32 right-hand sides (Figure 14)", ("32 right-hand sides",), over_rows("figure14", "32 right-hand sides (Figure 14)")),
    ("Rows of a partition", ("partition",), partitions),
    ("Pivoting", ("pivoting",), as_table()),
    ("Right-hand sides (Figure 15)", ("right-hand sides", "sparse right-hand sides"), right_hand_sides),
    ("Blocks of 2 (Figure 16)", ("blocks of 2",), blocks),
    ("Blocks of 3 (Figure 16)", ("blocks of 3",), blocks),
    ("Blocks of 4 (Figure 16)", ("blocks of 4",), blocks),
    ("Factorizations of blocks (Figure 17)", ("blocks of 2", "blocks of 3", "blocks of 4"), factorizations),
    ("Partitions of blocks", ("partitions of blocks of 2", "partitions of blocks of 3", "partitions of blocks of 4"), block_partitions),
    ("Bands (Figure 18)", tuple(f"{kind} kl=ku={k}" for kind in ("gbsv", "tiles") for k in range(1, 5)), bands),
    ("Sparse right-hand sides, 128 at a time (Figure 19)", ("sparse",), over_rows("figure19", "128 sparse right-hand sides (Figure 19)", in_time=True)),
    ("Many interleaved systems, 2^20 rows in all", ("batch interleaved",), over_rows("interleaved", "Interleaved systems")),
    ("Many contiguous systems, 2^20 rows in all", ("batch contiguous",), over_rows("contiguous", "Contiguous systems")),
    ("Workspace", WORKSPACE, workspace),
]


def tridiag_section(records, name, save):
    """Part by part, precision by precision."""
    text = ""
    for title, problems, make in PARTS:
        for dtype in unique(r["dtype"] for r in records):
            chosen = [r for r in ok(records) if r["dtype"] == dtype and r["problem"] in problems]
            if chosen:
                text += f"## {title}: {DTYPES[dtype]}\n\n" + make(chosen, f"{name}-{dtype}", save)
    return text


def numerics_section(records, name, save):
    """Every matrix a line, every solver a column; what is beyond the bar in bold."""
    text = ("Medians over the seeds of |x - x_t| / |x_t| in double precision; where the condition leaves no digit of x (marked r), of the componentwise backward\n"
            "error instead. Bold: more than 50 times LAPACK's error (or eps, if that is larger), or a backward error of more than 50 eps. Cond S is the\n"
            "condition of the coarse system for partitions of 32 rows.\n\n")
    for title in unique(r["problem"] for r in records):
        chosen = [r for r in records if r["problem"] == title]
        solvers, labels = unique(solver(r) for r in chosen), unique(r["label"] for r in chosen)
        at = {(r["label"], solver(r)): r for r in chosen}
        rows = []
        for label in labels:
            some = at[label, solvers[0]]
            by_residual = some["judged_by"] == "backward error"
            cells = []
            for s in solvers:
                r = at.get((label, s))
                value = r and (r["backward_error"] if by_residual else r["error"])
                cell = "-" if value is None else f"{value:.1e}"
                cells.append(f"**{cell}**" if value is not None and not (r["of_bar"] is not None and r["of_bar"] <= 1) else cell)
            rows.append([label + (" r" if by_residual else ""), f"{some['condition']:.1e}" if some["condition"] else "-"] + cells
                        + [f"{some['condition_coarse']:.1e}" if some["condition_coarse"] else "-"])
        text += f"## {title}\n\n" + table(["matrix", "cond A"] + [s.removeprefix("blocks:") for s in solvers] + ["cond S"], rows) + "\n"
    return text
