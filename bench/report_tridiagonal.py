"""Tridiagonal, block tridiagonal and banded solves, from records of trine-bench tridiag, and the tables of trine-bench
tridiag-numerics. Used by report.py."""
from report_plots import DTYPES, ok, scatter_plot, short, solver, table, unique


def figure(records, name, save, title, x, x_axis, y, y_axis):
    """Series of (x, y) by solver; neighbours joined."""
    series = {s: sorted((x(r), y(r)) for r in records if solver(r) == s and x(r) and y(r)) for s in unique(solver(r) for r in records)}
    return save(name, scatter_plot(title, x_axis, y_axis, {s: points for s, points in series.items() if points}, lines=True)) if records else ""


def pivot_table(records, row_of, row_title, value, note=""):
    """A line for each row_of(record), a column for each solver."""
    rows, solvers = unique(row_of(r) for r in records), unique(solver(r) for r in records)
    at = {(row_of(r), solver(r)): value(r) for r in records}
    return note + table([row_title] + solvers, [[str(row)] + [at.get((row, s), "-") for s in solvers] for row in rows]) + "\n"


def power(n):
    """2^k where n is one."""
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def microseconds(r):
    return short(1e3 * r["solve_ms"], 4)


def with_error(r):
    error = r.get("error")
    return f"{microseconds(r)} ({error:.0e})" if error is not None else microseconds(r)


def sizes(records, name, save):
    text = ""
    for key, axis in (("grows_per_second", "10^9 rows a second"), ("copy_fraction", "part of the copy bandwidth, 9 elements a row")):
        text += figure(records, f"{name}-{key.split('_')[0]}", save, f"gtsv, {DTYPES[records[0]['dtype']]} (Figure 12, right)", lambda r: r["n"], "rows", lambda r: r.get(key), axis)
    return text + pivot_table(records, lambda r: power(r["n"]), "rows", with_error, "Microseconds a solve, and the largest componentwise backward error:\n\n")


def kernels(records, name, save):
    text = figure(records, f"{name}-kernels", save, f"Kernels of the two passes, {DTYPES[records[0]['dtype']]} (Figure 12, left)", lambda r: r["n"], "rows", lambda r: r.get("gbs"), "GB/s")
    return text + pivot_table(records, lambda r: power(r["n"]), "rows", lambda r: short(r["gbs"], 4), "GB/s of the kernels, of the same accesses without arithmetic, and of a copy kernel:\n\n")


def over_rows(label, rate=False):
    """A part whose times, or throughput, are shown over n."""
    def make(records, name, save):
        stem = f"{name}-{''.join(c for c in records[0]['problem'] if c.isalnum())}"
        value, axis = (lambda r: r.get("grows_per_second"), "10^9 rows a second, all right-hand sides") if rate else (lambda r: 1e3 * r["solve_ms"], "microseconds")
        text = figure(records, stem, save, f"{label}, {DTYPES[records[0]['dtype']]}", lambda r: r["n"], "rows of a system", value, axis)
        return text + pivot_table(records, lambda r: power(r["n"]), "rows", microseconds, "Microseconds:\n\n")
    return make


def over_columns(label):
    """A part whose throughput is shown over the number of right-hand sides."""
    def make(records, name, save):
        dtype, largest = records[0]["dtype"], max(records, key=lambda r: (r["nrhs"], r["n"]))
        stem = f"{name}-{''.join(c for c in records[0]['problem'] if c.isalnum())}"
        text = figure([r for r in records if r["n"] == largest["n"]], stem, save, f"{label}, {power(largest['n'])} rows, {DTYPES[dtype]}", lambda r: r["nrhs"], "right-hand sides",
                      lambda r: r.get("grows_per_second"), "10^9 rows a second, all right-hand sides")
        return text + pivot_table(records, lambda r: f"{power(r['n'])} x {r['nrhs']}", "rows x right-hand sides", microseconds, "Microseconds:\n\n")
    return make


def partitions(records, name, save):
    text, dtype = "", DTYPES[records[0]["dtype"]]
    for nrhs in unique(r["nrhs"] for r in records):
        asked = [r for r in records if r["method"].startswith("M=") and r["nrhs"] == nrhs]
        at = {r["method"]: int(r["method"][2:]) for r in asked}
        points = sorted((at[r["method"]], r["grows_per_second"]) for r in asked if r.get("grows_per_second"))
        count = "one right-hand side" if nrhs == 1 else f"{nrhs} right-hand sides"
        if points:
            text += save(f"{name}-partitions{'' if nrhs == 1 else f'-{nrhs}'}",
                         scatter_plot(f"Rows of a partition, {count}, {dtype}", "rows of a partition", "10^9 rows a second", {"trine stages": points}, lines=True))
    return text + pivot_table(records, lambda r: f"{power(r['n'])} x {r['nrhs']}", "rows x right-hand sides", microseconds,
                              "Microseconds by the rows of a partition (auto: by tiles):\n\n")


def as_table(row_title="rows"):
    return lambda records, name, save: pivot_table(records, lambda r: power(r["n"]), row_title, with_error, "Microseconds (backward error):\n\n")


def bands(records, name, save):
    return pivot_table(records, lambda r: f"{r['problem']}, {power(r['n'])}", "bands, rows", with_error, "Microseconds (backward error):\n\n")


PARTS = [
    ("One right-hand side", ("gtsv",), sizes),
    ("Kernels (Figure 12, left)", ("kernel",), kernels),
    ("Last stages (Figure 13)", ("final stage",), over_rows("Last stages (Figure 13)")),
    ("Last stages of cyclic systems", ("final stage, cyclic",), over_rows("Last stages, cyclic")),
    ("32 right-hand sides (Figure 14)", ("32 right-hand sides",), over_rows("32 right-hand sides (Figure 14)", rate=True)),
    ("Rows of a partition", ("partition",), partitions),
    ("Pivoting", ("pivoting",), as_table()),
    ("Right-hand sides (Figure 15)", ("right-hand sides",), over_columns("Right-hand sides (Figure 15)")),
    ("Blocks of 2 (Figures 16 and 17)", ("blocks of 2",), over_columns("Blocks of 2 (Figures 16, 17)")),
    ("Blocks of 3 (Figures 16 and 17)", ("blocks of 3",), over_columns("Blocks of 3 (Figures 16, 17)")),
    ("Blocks of 4 (Figures 16 and 17)", ("blocks of 4",), over_columns("Blocks of 4 (Figures 16, 17)")),
    ("Bands (Figure 18)", None, bands),
    ("Sparse right-hand sides, 128 at a time (Figures 15 and 19)", ("sparse",), over_rows("128 sparse right-hand sides (Figures 15, 19)")),
    ("Many interleaved systems, 2^20 rows in all", ("batch interleaved",), over_rows("Interleaved systems")),
    ("Many contiguous systems, 2^20 rows in all", ("batch contiguous",), over_rows("Contiguous systems")),
]


def tridiag_section(records, name, save):
    """Part by part, precision by precision; problems that belong to no other part are bands."""
    named = {problem for _, problems, _ in PARTS if problems for problem in problems}
    text = ""
    for title, problems, make in PARTS:
        for dtype in unique(r["dtype"] for r in records):
            chosen = [r for r in ok(records) if r["dtype"] == dtype and (r["problem"] in problems if problems else r["problem"] not in named)]
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
