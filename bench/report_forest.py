"""Linear forests, from records of trine-bench forest: Figures 29, 31 and 32 of the thesis in form. Used by report.py."""
from report_plots import DTYPES, dot_plot, ok, scatter_plot, short, table, unique

STAGES = ("weights", "factor", "cycles", "order", "bands")


def by_matrix(records):
    """(matrix, precision) -> method -> record."""
    cells = {}
    for r in records:
        cells.setdefault((r["matrix"], r["dtype"]), {})[r["method"]] = r
    return cells


def dtypes_of(records):
    return unique(r["dtype"] for r in records)


def get(found, method, key="solve_ms"):
    return found[method].get(key) if method in found else None


def stages(records, name, save, title="Stages"):
    """Figures 31 (bottom) and 32: each stage, and the extraction beside a walk by one thread."""
    cells = by_matrix(records)
    rows = [[f"`{matrix}`", DTYPES[dtype], one["all"]["n"]] + [short(get(one, m)) for m in STAGES] +
            [short(get(one, "all")), short(get(one, "all", "ms_per_million")), short(get(one, "extraction")), short(get(one, "extraction:scan")),
             short(get(one, "sequential")), short(get(one, "extraction", "ratio")), short(get(one, "extraction:scan", "ratio"))]
            for (matrix, dtype), one in cells.items() if "all" in one]
    text = (f"## {title}\n\nMilliseconds. All: weights to bands in one go; extraction: cycles and order, by splitters and by the scan of the thesis, beside a walk by "
            "one thread of the host, and how many times as fast as that they are:\n\n" +
            table(["matrix", "precision", "vertices", *STAGES, "all", "all, a million vertices", "extraction", "by the scan", "walk", "faster", "the scan"], rows) + "\n")
    for dtype in dtypes_of(records):
        mine = {m: one for (m, t), one in cells.items() if t == dtype}
        shares = {stage: {m: get(one, stage) / sum(get(one, s) for s in STAGES) for m, one in mine.items() if all(s in one for s in STAGES)} for stage in STAGES}
        text += save(f"{name}-{dtype}-figure32", dot_plot(f"Stages, {DTYPES[dtype]} (Figure 32)", "part of the time of all", list(mine), shares, from_zero=True))
        speed = {label: {m: get(one, method, "ratio") for m, one in mine.items() if method in one}
                 for label, method in (("splitters", "extraction"), ("scan", "extraction:scan"))}
        text += save(f"{name}-{dtype}-figure31", dot_plot(f"Extraction of paths, {DTYPES[dtype]} (Figure 31, bottom)", "times as fast as a walk by one thread", list(mine), speed))
    return text


def paths(records, name, save):
    text = stages(records, name, save, "Long and short paths")
    first = {r["method"]: r for r in records if r["matrix"] == records[0]["matrix"]}
    shortest = {r["method"]: r for r in records if r["matrix"] == records[-1]["matrix"]}
    for method in ("extraction", "extraction:scan"):
        if method in first and method in shortest:
            text += (f"{method}: `{first[method]['matrix']}` takes {short(first[method]['ms_per_million'] / shortest[method]['ms_per_million'])} times the time of "
                     f"`{shortest[method]['matrix']}` a vertex.\n\n")
    return text


def proposition(records, name, save):
    """Figure 29: the speed of one proposition relative to the product."""
    names = [f"propose:n={n}" for n in (1, 2, 3, 4)]
    cells = by_matrix(records)

    def beside_product(of):
        rows = [[f"`{matrix}`", DTYPES[dtype], short(get(one, "spmv"))] + [f"{short(get(one, m))} ({short(get(one, m, 'ratio'))})" for m in of]
                for (matrix, dtype), one in cells.items()]
        return table(["matrix", "precision", "product", "n = 1", "n = 2", "n = 3", "n = 4"], rows) + "\n"

    text = ("## Edge proposition\n\nMilliseconds of one proposition of a later round without charges, and in brackets its speed relative to the product with the same matrix:\n\n" +
            beside_product(names))
    first = [m.replace("propose", "first") for m in names]
    if any(m in one for m in first for one in cells.values()):
        text += "The first proposition, which looks at whole rows and lists candidates:\n\n" + beside_product(first)
    for dtype in dtypes_of(records):
        series = {m.removeprefix("propose:"): {matrix: get(one, m, "ratio") for (matrix, t), one in cells.items() if t == dtype and m in one} for m in names}
        text += save(f"{name}-{dtype}-figure29", dot_plot(f"Edge proposition, {DTYPES[dtype]} (Figure 29)", "speed relative to the product", unique(r["matrix"] for r in records), series,
                                                          from_zero=True))
    return text


def scans(records, name, save):
    """Figure 31, top: the throughput of every pass."""
    text = "## Bidirectional scans\n\nLeast, median and largest part of the copy bandwidth over the passes:\n\n"
    rows, series = [], {}
    for kind, label in (("edges", "weakest edges"), ("lengths", "positions")):
        for matrix in unique(r["matrix"] for r in records):
            passes = [r for r in records if r["matrix"] == matrix and r["method"].startswith(f"pass:{kind}:")]
            shares = sorted(r["copy_fraction"] for r in passes)
            if shares:
                rows.append([f"`{matrix}`", label, len(shares)] + [short(s) for s in (shares[0], shares[len(shares) // 2], shares[-1])])
                series[f"{matrix}, {label}"] = [(int(r["method"].split(":")[2]) + 1, r["copy_fraction"]) for r in passes]
    text += table(["matrix", "scan of", "passes", "least", "median", "largest"], rows) + "\n"
    return text + save(f"{name}-figure31-scans", scatter_plot("Passes of the bidirectional scans (Figure 31, top)", "pass", "part of the copy bandwidth", series, lines=True))


def decomposition(records, *_):
    rows = [[f"`{matrix}`", short(get(one, "decompose:1")), short(get(one, "decompose:4")), short(get(one, "decompose:4", "relative"))]
            for (matrix, _), one in by_matrix(records).items()]
    return "## Decomposition\n\nMilliseconds of one forest and of four:\n\n" + table(["matrix", "one", "four", "relative"], rows) + "\n"


def coverage(records, name, save):
    """By rounds of proposals, and by rounds of exchanges."""
    rules = {"hash": "hash", "charged": "lowest index, charged", "lowest-index": "lowest index"}
    rows, exchanges, text = [], [], ""
    for (matrix, _), one in by_matrix(records).items():
        greedy = get(one, "greedy", "coverage")
        series = {label: [(k, get(one, f"{rule}:rounds={k}", "coverage")) for k in range(1, 13) if f"{rule}:rounds={k}" in one] for rule, label in rules.items()}
        enough = next((k for k, c in series["hash"] if c >= greedy - 0.001), None)
        rows.append([f"`{matrix}`", short(greedy, 4), enough or "-"] + [short(dict(points).get(k), 4) for points in series.values() for k in (5, 9)])
        exchanges.append([f"`{matrix}`", short(get(one, "forest", "coverage"), 4)] + [short(get(one, f"improve:rounds={k}", "coverage"), 4) for k in (1, 2, 5, 10, 20)] +
                         [short(get(one, "forest")), short(get(one, "improve:rounds=10"))])
        stem = "".join(c if c.isalnum() else "-" for c in matrix)
        text += save(f"{name}-{stem}", scatter_plot(f"Coverage by rounds, {matrix}", "rounds", "coverage", series, lines=True, from_zero=True))
    head = ["matrix", "greedy", "rounds by hash"] + [f"{label}, {k}" for label in rules.values() for k in (5, 9)]
    return ("## Coverage\n\nOf [0,2]-factors after 5 and 9 rounds; rounds by hash: until the greedy factor's coverage less 0.001 is reached:\n\n" + table(head, rows) + "\n" + text +
            "## Exchanges\n\nCoverage of forests after rounds of exchanges; milliseconds of the forest, and of 10 rounds:\n\n" +
            table(["matrix", "forest", "1", "2", "5", "10", "20", "forest ms", "10 rounds ms"], exchanges) + "\n")


def threads(records, *_):
    names = STAGES + ("all",)
    rows = [[f"`{matrix}`", ranking] + [short(get(one, m + suffix, "ratio")) for m in names] for (matrix, _), one in by_matrix(records).items()
            for ranking, suffix in (("splitters", ""), ("scan", ":scan"))]
    return "## Threads\n\nHow many times as fast as one thread:\n\n" + table(["matrix", "ranking", *names], rows) + "\n"


PARTS = {None: stages, "proposition": proposition, "scans": scans, "decomposition": decomposition, "paths": paths, "coverage": coverage, "threads": threads}


def forest_section(records, name, save):
    """Sweep by sweep."""
    text = ""
    for sweep, make in PARTS.items():
        chosen = [r for r in ok(records) if r.get("sweep") == sweep]
        if chosen:
            text += make(chosen, f"{name}-{sweep}" if sweep else name, save)
    return text
