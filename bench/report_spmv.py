"""Products of sparse matrices with vectors, from records of trine-bench spmv: Figures 24 to 26 of the thesis in form, and what its
bars ask for. Used by report.py."""
from report_plots import DTYPES, dot_plot, geometric_mean, is_by_columns, ok, short, solver, table, unique


def many(r):
    """Nonzeros from which on times are judged by their ratio, below by their difference."""
    return 10 ** 5 if r["device"].startswith("cpu") else 10 ** 6


def kind_of_product(r):
    """"double, 8 vectors by rows, beta = 0"."""
    return DTYPES[r["dtype"]] + (f", {r['nrhs']} vectors by {'columns' if is_by_columns(r) else 'rows'}" if r["nrhs"] > 1 else "") + ("" if r["beta"] else ", beta = 0")


def us(ms):
    return None if ms is None else 1e3 * ms


def is_floor(r):
    return r["impl"] == "kernel" and r["method"] == "gather"


def analysis(r):
    """Of the device's clock where there is one; none: nothing is preprocessed."""
    return r.get("analyse_device_ms") or r.get("analyse_ms") or 0


def series_of(records, value):
    """solver -> {matrix: value}."""
    return {s: {r["matrix"]: value(r) for r in records if solver(r) == s} for s in unique(map(solver, records))}


def of_slowest(series):
    """The same relative to the largest value of each matrix."""
    largest = {}
    for values in series.values():
        for matrix, value in values.items():
            largest[matrix] = max(largest.get(matrix, 0), value)
    return {s: {m: v / largest[m] for m, v in values.items() if largest[m] > 0} for s, values in series.items()}


def is_preprocessed(r):
    return r["method"].endswith(":preprocess")


def peers_once(records, preprocessed):
    """For a plot: of cuSPARSE each algorithm by its name, with its preprocessing or without, where there are both."""
    named = [r for r in records if not (r["impl"] == "cusparse" and r["method"].startswith("default"))]
    both = {is_preprocessed(r) for r in named if r["impl"] == "cusparse"} == {True, False}
    return [r for r in named if not (both and r["impl"] == "cusparse" and is_preprocessed(r) != preprocessed)]


def relative_plot(records, value, title, stem, save):
    chosen = [r for r in records if not is_floor(r)]
    return save(stem, dot_plot(title, "time relative to the slowest", unique(r["matrix"] for r in chosen), of_slowest(series_of(chosen, value)), from_zero=True))


# ------------------------------------------------------------------ products


def time_table(records):
    """A line a matrix, a column a solver."""
    names = unique(map(solver, records))
    at = {(r["matrix"], solver(r)): r for r in records}
    rows = []
    for matrix in unique(r["matrix"] for r in records):
        one = next(r for r in records if r["matrix"] == matrix)
        rows.append([f"`{matrix}`", one["n"], one["nnz"], short(one.get("longest_row"), 9)]
                    + [short(us(at[matrix, s]["solve_ms"]), 4) if (matrix, s) in at else "-" for s in names])
    return "Microseconds a product:\n\n" + table(["matrix", "rows", "nnz", "longest row"] + names, rows) + "\n"


def auto_table(records):
    rows = []
    for r in (r for r in records if r["impl"] == "trine" and r["method"] == "auto"):
        share = 100 * analysis(r) / (analysis(r) + r["solve_ms"])
        rows.append([f"`{r['matrix']}`", r["chosen"] or "-", short(us(r["solve_ms"]), 4), short(us(analysis(r))), f"{share:.0f}", short(100 * r["copy_fraction"]),
                     short(r.get("floor_fraction")), f"{r.get('ratio_peer') or '-'} {r.get('ratio_peer_method') or ''}".strip(), short(r.get("ratio")),
                     short(r.get("slower_us")), short(r["error"])])
    if not rows:
        return ""
    return ("What auto chose, and how it did; ratio: time of the fastest peer over time of auto, in alternating samples; gathers: time of the loads alone over time of auto:\n\n" +
            table(["matrix", "chosen", "us", "preprocessing us", "% of both", "% of copy", "gathers", "fastest peer", "ratio", "slower by us", "error"], rows) + "\n")


def ratio_lines(records):
    """The two lists of the bars: matrices with many nonzeros by ratio, others by difference."""
    text = ""
    for method in unique(r["method"] for r in records if r["impl"] == "trine" and r.get("ratio")):
        chosen = [r for r in records if r["impl"] == "trine" and r["method"] == method and r.get("ratio")]
        large, small = [r for r in chosen if r["nnz"] >= many(r)], [r for r in chosen if r["nnz"] < many(r)]
        ratios = [r["ratio"] for r in chosen]
        text += f"{method} against the fastest peer of each of {len(chosen)} matrices: {short(geometric_mean(ratios))} times as fast in the geometric mean"
        if large:
            least = min(large, key=lambda r: r["ratio"])
            text += f"; from {many(large[0]):} nonzeros on at most {short(1 / least['ratio'], 4)} times its time (`{least['matrix']}`)"
        if small:
            most = max(small, key=lambda r: r["slower_us"])
            text += f"; below, {short(most['slower_us'])} us slower at most (`{most['matrix']}`)"
        text += ".\n\n"
    return text


def products(records, name, save, part=""):
    text = ""
    for dtype in unique(r["dtype"] for r in records):
        for nrhs, by_columns, beta in sorted(set((r["nrhs"], is_by_columns(r), r["beta"]) for r in records if r["dtype"] == dtype)):
            chosen = [r for r in records if (r["dtype"], r["nrhs"], is_by_columns(r), r["beta"]) == (dtype, nrhs, by_columns, beta)]
            title = kind_of_product(chosen[0])
            stem = f"{name}-{dtype}-{nrhs}" + ("-colmajor" if by_columns else "") + ("" if beta else "-beta0")
            text += f"## {part}{title if part else title.capitalize()}\n\n" + time_table(chosen) + auto_table(chosen) + ratio_lines(chosen)
            text += relative_plot(peers_once(chosen, True), lambda r: r["solve_ms"], f"Products, {title} (Figure 24, top)", f"{stem}-figure24", save)
            text += relative_plot(peers_once(chosen, False), lambda r: r["solve_ms"] + analysis(r), f"Preprocessing and one product, {title} (Figure 24, bottom)", f"{stem}-figure24-preprocessing", save)
            shares = series_of([r for r in chosen if r["impl"] == "trine" and analysis(r)], lambda r: analysis(r) / (analysis(r) + r["solve_ms"]))
            text += save(f"{stem}-figure25", dot_plot(f"Preprocessing, {title} (Figure 25)", "part of preprocessing + one product", unique(r["matrix"] for r in chosen), shares,
                                                      from_zero=True)) if nrhs == 1 else ""
    return text


# ----------------------------------------------------------------- other sweeps


def relative_table(records):
    """Every solver relative to the one of the sweep, a line a matrix."""
    names = unique(map(solver, records))
    at = {(r["matrix"], r["dtype"], solver(r)): r for r in records}
    rows = [[f"`{matrix}`", DTYPES[dtype]] + [f"{short(us(at[matrix, dtype, s]['solve_ms']), 4)} ({short(at[matrix, dtype, s].get('relative'))})" if (matrix, dtype, s) in at else "-"
                                              for s in names] for matrix, dtype in unique((r["matrix"], r["dtype"]) for r in records)]
    base = next((r["relative_to"] for r in records if r.get("relative_to")), "-")
    return f"Microseconds, and relative to {base}, medians over alternating samples:\n\n" + table(["matrix", "precision"] + names, rows) + "\n"


def fused(records, *_):
    """What an epilogue costs beside the bytes of vectors that the product does not touch."""
    rows = []
    plain = {(r["matrix"], r["dtype"]): r for r in records if r.get("epilogue_bytes") is None}
    for r in (r for r in records if r.get("epilogue_bytes") is not None and (r["matrix"], r["dtype"]) in plain):
        alone = plain[r["matrix"], r["dtype"]]["solve_ms"]
        rows.append([f"`{r['matrix']}`", DTYPES[r["dtype"]], r["method"], short(us(alone), 4), short(us(r["solve_ms"]), 4), short(r["relative"]),
                     short(1e-3 * r["epilogue_bytes"] / r["copy_gbs"])])
    return "## Epilogues\n\n" + table(["matrix", "precision", "method", "product us", "with the epilogue us", "relative", "its bytes at copy us"], rows) + "\n"


def applications(records, name, save):
    text = "## Applications (Figure 26)\n\n" + relative_table(records)
    own = [r for r in records if r["impl"] == "trine"]
    for dtype in unique(r["dtype"] for r in own):
        chosen = [r for r in own if r["dtype"] == dtype]
        text += relative_plot(chosen, lambda r: r["solve_ms"], f"Applications, {DTYPES[dtype]} (Figure 26)", f"{name}-{dtype}-figure26", save)
        best = [r for r in chosen if r["method"] == "arg-max2"]
        if best:
            worst = max(best, key=lambda r: r.get("relative") or 0)
            text += f"arg-max2 takes at most {short(worst.get('relative'))} times the product's time (`{worst['matrix']}`)"
            ratios = [r["ratio"] for r in best if r.get("ratio") and r.get("ratio_peer") == "cub"]
            text += f"; CUB's segmented reduction {short(geometric_mean(ratios))} times that of arg-max2 in the geometric mean, least {short(min(ratios))}.\n\n" if ratios else ".\n\n"
    return text


def creation(records, *_):
    return "## Creation of a semiring\n\n" + table(["matrix", "semiring", "to the first result, ms"], [[f"`{r['matrix']}`", r["method"], short(r["solve_ms"])] for r in records]) + "\n"


PARTS = [(None, products), ("few-entries", lambda *given: products(*given, part="Fewer entries than rows, ")),
         ("values", lambda records, *_: "## Values in other precisions\n\n" + relative_table(records)), ("fused", fused), ("applications", applications),
         ("operators", lambda records, *_: "## A user's operators\n\n" + relative_table(records)), ("creation", creation)]


def spmv_section(records, name, save):
    """Sweep by sweep."""
    text = ""
    for sweep, make in PARTS:
        chosen = [r for r in ok(records) if r.get("sweep") == sweep]
        if chosen:
            text += make(chosen, f"{name}-{sweep}" if sweep else name, save)
    return text
