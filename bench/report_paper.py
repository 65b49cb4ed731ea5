"""The tables and figures of Liu, Li, Hogg, Duff and Vinter 2017, from records of trine-bench --sweep. Used by report.py."""
import statistics
from statistics import harmonic_mean

from report_plots import dot_plot, ok, scatter_plot, short, table, unique

DIRECTIONS = ("forward", "backward")


def of(records, sweep, **wanted):
    return [r for r in records if r.get("sweep") == sweep and all(r.get(key) == value for key, value in wanted.items())]


def problem(record):
    return f"{record['matrix']} {record['direction']}"


def options(record):
    """"syncfree-csc:warps=4:scratchpad=1" -> {"warps": 4, "scratchpad": 1}"""
    return {key: int(value) for key, value in (part.split("=") for part in record["method"].split(":")[1:])}


def table_1(records, save):
    rows = []
    for r in of(records, "synchronization", impl="basic"):
        share = r.get("synchronization")
        if r["status"] != "ok" or share is None:
            continue
        auto = [a for a in of(records, "synchronization", method="auto", matrix=r["matrix"], direction=r["direction"]) if a["status"] == "ok"]
        rows.append([f"`{problem(r)}`", short(r["levels"], 7), short(r["analyse_ms"]), short(r["solve_ms"]), short(share * r["solve_ms"]),
                     short((1 - share) * r["solve_ms"]), f"{100 * share:.0f}%", short(auto[0]["solve_ms"]) if auto else "-"])
    if not rows:
        return ""
    return ("## Table I: a basic level-set method, a barrier a level\n\n" +
            table(["problem", "level sets", "preprocessing ms", "solve ms", "synchronization ms", "compute ms", "share", "auto ms"], rows) + "\n")


def figure_2(records, save):
    series = {}
    for r in of(records, "structure", direction="forward"):
        bins = (pair.split(":") for pair in (r.get("column_lengths") or "").split())
        series[r["matrix"]] = [(float(length), float(count)) for length, count in bins]
    if not series:
        return ""
    text = "## Figure 2: lengths of the columns\n\n"
    names = list(series)
    for part in range(0, len(names), 4):
        chosen = {name: series[name] for name in names[part:part + 4]}
        text += save(f"paper-figure2-{part // 4 + 1}", scatter_plot("Lengths of columns (up to the next power of two), forward", "entries of a column",
                                                                    "columns", chosen, lines=True))
    return text


def table_3(records, save):
    rows = []
    for matrix in unique(r["matrix"] for r in of(records, "structure")):
        for direction, name in zip(DIRECTIONS, "LU"):
            for r in of(records, "structure", matrix=matrix, direction=direction):
                rows.append([f"`{matrix}`", r["n"], name, r["nnz"], short(r["levels"], 8), short(r["level_rows_min"], 8), short(r["level_rows_mean"], 4),
                             short(r["level_rows_max"], 8)])
    if not rows:
        return ""
    return ("## Table III: level sets\n\nL is solved with forward, U backward. `lu:` are factors by SuperLU, which stand in for MA48's; `chol:` by "
            "CHOLMOD.\n\n" + table(["matrix", "rows", "", "nonzeros", "level sets", "min", "average", "max rows a level"], rows) + "\n")


def tables_4_and_5(records, save):
    text = ""
    for direction, number in zip(DIRECTIONS, ("IV", "V")):
        chosen = ok(of(records, "preprocessing", direction=direction))
        columns = [("cusparse", "spsv"), ("cusparse", "spsm"), ("trine", "syncfree-csc"), ("trine", "syncfree-csr")]
        rows, times = [], {column: [] for column in columns}
        for matrix in unique(r["matrix"] for r in chosen):
            row = [f"`{matrix}`"]
            for impl, method in columns:
                # one right-hand side, but for SpSM, which is for several
                found = [r for r in chosen if (r["matrix"], r["impl"], r["method"]) == (matrix, impl, method) and (method == "spsm" or r["nrhs"] == 1)]
                row.append(short(found[0]["analyse_ms"]) if found else "-")
                if found:
                    times[impl, method].append(found[0]["analyse_ms"])
            rows.append(row)
        if not rows:
            continue
        rows.append(["Harmonic mean"] + [short(harmonic_mean(times[column])) if times[column] else "-" for column in columns])
        text += (f"## Table {number}: preprocessing, {direction} (milliseconds)\n\n" +
                 table(["problem", "cuSPARSE SpSV", "cuSPARSE SpSM, 8 right-hand sides", "syncfree-csc", "syncfree-csr"], rows) + "\n")
    return text


def figures_7_and_8(records, save):
    text = ""
    for dtype, number, name in (("s", 7, "single"), ("d", 8, "double")):
        for direction in DIRECTIONS:
            chosen = [r for r in ok(records) if r["suite"] == "sptrsv" and r.get("sweep") == "speed" and r["dtype"] == dtype and r["direction"] == direction]
            series = {}
            for r in chosen:
                solver = r["method"] if r["impl"] == "trine" else f"{r['impl']} {r['method']}"
                series.setdefault(solver, {})[r["matrix"]] = r["gflops"]
            if chosen:
                text += f"## Figure {number}, {direction}: SpTRSV in {name} precision\n\n"
                text += save(f"paper-figure{number}-{direction}", dot_plot(f"SpTRSV, {name}, {direction}", "GFlop/s", unique(r["matrix"] for r in chosen), series))
                csc, peer = series.get("syncfree-csc", {}), series.get("cusparse spsv", {})
                both = [csc[m] / peer[m] for m in csc if m in peer]
                auto = [series["auto"][m] / peer[m] for m in series.get("auto", {}) if m in peer]
                if both and auto:
                    text += (f"Times as fast as cuSPARSE SpSV on {len(both)} problems, harmonic mean: syncfree-csc {short(harmonic_mean(both))}, "
                             f"auto {short(harmonic_mean(auto))}.\n\n")
    return text


def figure_9(records, save):
    times = {}
    for r in ok(of(records, "scratchpad")):
        o = options(r)
        times[problem(r), o["warps"], o["scratchpad"]] = r["solve_ms"]
    series, rows = {}, []
    for warps in (4, 8, 16, 32):
        gain = {p: times[p, w, 2] / times[p, w, 1] for p, w, pad in times if w == warps and pad == 1 and (p, w, 2) in times}
        if gain:
            series[f"{warps} warps"] = gain
            rows.append([f"{warps} warps", short(statistics.median(gain.values())), short(harmonic_mean(list(gain.values()))), short(max(gain.values())),
                         short(statistics.geometric_mean([times[p, warps, 1] for p in gain]))])
    if not rows:
        return ""
    return ("## Figure 9: the scratchpad, time without over time with it\n\n" +
            table(["block", "median", "harmonic mean", "largest", "time with it, geometric mean ms"], rows) + "\n" +
            save("paper-figure9", dot_plot("syncfree-csc: gain by the scratchpad", "time without over time with it", unique(p for p, _, _ in times), series)))


NAMES = {"syncfree-csc:variant=1": "opt1", "syncfree-csc:variant=2": "opt2", "syncfree-csc": "adaptive", "spsm": "cuSPARSE SpSM", "auto": "auto"}


def figures_10_and_11(records, save):
    text = ""
    for direction, number in zip(DIRECTIONS, (10, 11)):
        chosen = [r for r in ok(of(records, "variants", direction=direction)) if r["method"] in NAMES and r["nrhs"] > 1]
        sizes = sorted(set(r["nrhs"] for r in chosen))
        at = {(r["matrix"], r["method"], r["nrhs"]): r["gflops"] for r in chosen}
        matrices = unique(r["matrix"] for r in chosen)
        # the mean over the problems that every one of them solves at every size
        whole = [m for m in matrices if all((m, method, k) in at for method in NAMES for k in sizes)]
        if not whole:
            continue
        series = {name: [(k, harmonic_mean([at[m, method, k] for m in whole])) for k in sizes] for method, name in NAMES.items()}
        text += f"## Figure {number}: SpTRSM {direction}, double\n\n" + save(f"paper-figure{number}", scatter_plot(
            f"SpTRSM {direction}: harmonic mean over {len(whole)} problems", "right-hand sides", "GFlop/s", series, lines=True))
        rows = [[f"`{m}`"] + [" / ".join(short(at[m, method, k]) for k in (8, 32, 128) if (m, method, k) in at) for method in NAMES] for m in matrices]
        text += "GFlop/s with 8 / 32 / 128 right-hand sides:\n\n" + table(["problem"] + list(NAMES.values()), rows) + "\n"
    return text


def relative(records, sweep, key, save, number):
    """Harmonic mean over all problems of the speed at each value of p or q over that at the first."""
    chosen = ok(of(records, sweep))
    time = {(problem(r), r["nrhs"], options(r)[key]): r["solve_ms"] for r in chosen}
    values = sorted(set(value for _, _, value in time))
    series = {}
    for nrhs in sorted(set(k for _, k, _ in time)):
        whole = [p for p in unique(p for p, _, _ in time) if all((p, nrhs, value) in time for value in values)]
        if whole:
            series[f"{nrhs} rhs"] = [(value, harmonic_mean([time[p, nrhs, values[0]] / time[p, nrhs, value] for p in whole])) for value in values]
    if not series:
        return ""
    rows = [[name] + [short(y) for _, y in points] for name, points in series.items()]
    return (f"## {number}: speed by {key}, over {key} = {values[0]} (harmonic mean, forward and backward)\n\n" +
            table([""] + [f"{key} = {value}" for value in values], rows) + "\n" +
            save(f"paper-{key}", scatter_plot(f"SpTRSM: speed over {key} = {values[0]}", key, "relative speed", series, lines=True)))


def paper_section(device, records, save):
    """Everything that the records of one device have of the paper; empty where they have nothing."""
    text = "".join(make(records, save) for make in (table_1, figure_2, table_3, tables_4_and_5, figures_7_and_8, figure_9, figures_10_and_11))
    text += relative(records, "p", "p", save, "Figure 12") + relative(records, "q", "q", save, "Section 5.3")
    if not text:
        return ""
    full, commits = unique(r["device_full"] for r in records), unique(r["commit"] for r in records)
    dates = sorted(r["date"][:10] for r in records)
    return (f"# The tables and figures of Liu et al. 2017: {device}\n\n{', '.join(full)}; {dates[0]}; sources at {', '.join(commits)}. The paper's matrices "
            f"are not at hand; these are other ones, and cuSPARSE is today's.\n\n" + text)
