"""Triangular solves with one and many right-hand sides, from records of trine-bench sptrsv and sptrsm. Used by report.py."""
from statistics import harmonic_mean

from report_plots import DTYPES, dot_plot, fewest_calls, geometric_mean, is_by_columns, ok, scatter_plot, short, solver, table, unique


def ratio_summary(records):
    """What auto makes of the peer, in one sentence a peer and number of solves expected."""
    text = ""
    for method in unique(r["method"] for r in records if r["method"] == "auto" or r["method"].startswith("auto:solves=")):
        of_method = [r for r in ok(records) if r["method"] == method and r.get("ratio")]
        for peer in unique(r["ratio_peer"] for r in of_method):
            chosen = [r for r in of_method if r["ratio_peer"] == peer]
            ratios = [r["ratio"] for r in chosen]
            slowest = min(chosen, key=lambda r: r["ratio"])
            text += (f"{method} against {peer} on {len(ratios)} problems: {short(harmonic_mean(ratios))} times as fast in the harmonic mean, "
                     f"{short(geometric_mean(ratios))} in the geometric mean, least {short(min(ratios))} (`{slowest['matrix']}`).\n\n")
    return text


def total_summary(records):
    """Analysis, numeric and all solves expected beside those of auto without inverses: one row a number of solves."""
    rows = []
    for solves in sorted(unique(r["expected_solves"] for r in ok(records) if r.get("total_plain_ms"))):
        chosen = [r for r in ok(records) if r.get("total_plain_ms") and r["expected_solves"] == solves]
        parts = [r["total_ms"] / r["total_plain_ms"] for r in chosen]
        over = [r["matrix"] for r in chosen if r["total_ms"] > max(1.03 * r["total_plain_ms"], r["total_plain_ms"] + 0.03)]
        rows.append([short(solves), len(chosen), sum(r["chosen"] == "partitioned-inverse" for r in chosen), short(geometric_mean(parts)), short(max(parts)),
                     ", ".join(f"`{m}`" for m in over) or "none"])
    if not rows:
        return ""
    return ("Analysis, numeric and all solves together, over those of auto without inverses:\n\n" +
            table(["solves", "problems", "by inverses", "geometric mean", "most", "over 3% and 30 us more"], rows) + "\n")


def analysis_summary(records):
    """Analyses on the device's clock beside the peer's, buffers allocated: one row a method."""
    peers = {(r["matrix"], r["direction"]): r for r in ok(records) if r["impl"] == "cusparse" and r.get("analyse_device_ms")}
    rows = []
    for method in unique(r["method"] for r in ok(records) if r["impl"] == "trine"):
        chosen = [r for r in ok(records) if r["impl"] == "trine" and r["method"] == method and r.get("analyse_device_ms")
                  and (r["matrix"], r["direction"]) in peers]
        if not chosen:
            continue
        peer = [peers[r["matrix"], r["direction"]] for r in chosen]
        ratios = [p["analyse_device_ms"] / r["analyse_device_ms"] for p, r in zip(peer, chosen)]
        least = min(range(len(chosen)), key=lambda i: ratios[i])
        # what the choice of a method may cost: so much of the peer's analysis, or two of its own solves
        over = [r["matrix"] for p, r in zip(peer, chosen) if r["analyse_device_ms"] > max(1.2 * p["analyse_device_ms"], 2 * r["solve_ms"])]
        rows.append([method, len(chosen), short(harmonic_mean(ratios)), short(geometric_mean(ratios)),
                     f"{short(ratios[least])} (`{chosen[least]['matrix']}`)", ", ".join(f"`{m}`" for m in over) or "none"])
    if not rows:
        return ""
    return ("Analysis on the device's clock, with buffers allocated: cuSPARSE's time over the method's own.\n\n" +
            table(["method", "problems", "harmonic mean", "geometric mean", "least", "over 1.2 x cuSPARSE's and 2 solves"], rows) + "\n")


def triangular_tables(records):
    """Every problem a row, every solver a column of solve times; then what auto did."""
    text = ""
    problems = unique(r["matrix"] for r in records)
    solvers = unique(solver(r) for r in ok(records))
    at = {(r["matrix"], solver(r)): r for r in records}

    def time(matrix, name):
        record = at.get((matrix, name))
        if record is None or record["status"] == "skipped":
            return "-"
        return short(record["solve_ms"]) if record["status"] == "ok" else "failed"

    rows = []
    for matrix in problems:
        any_record = next(r for r in records if r["matrix"] == matrix)
        levels, mean = any_record.get("levels"), any_record.get("level_rows_mean")
        rows.append([f"`{matrix}`", any_record["n"] or "-", any_record["nnz"] or "-", short(levels, 6),
                     f"{short(any_record.get('level_rows_min'), 7)} / {short(mean)} / {short(any_record.get('level_rows_max'), 7)}"]
                    + [time(matrix, name) for name in solvers])
    text += table(["problem", "n", "nnz", "levels", "rows a level: min / mean / max"] + [f"{name} ms" for name in solvers], rows) + "\n" + fewest_calls(records)

    rows = []
    for matrix in problems:
        auto = at.get((matrix, "auto"))
        if not auto or auto["status"] != "ok":
            continue
        peer = next((r for r in ok(records) if r["matrix"] == matrix and r["impl"] == auto.get("ratio_peer")), None)
        rows.append([f"`{matrix}`", auto["chosen"], short(auto["analyse_ms"]), short(auto["numeric_ms"]), short(auto["solve_ms"]),
                     short(auto.get("us_per_level")), short(auto.get("gflops")), short(100 * auto["copy_fraction"]), f"{auto['error']:.1e}",
                     short(auto.get("ratio")), short(peer["analyse_ms"] / auto["analyse_ms"]) if peer and peer["analyse_ms"] and auto["analyse_ms"] else "-"])
    if rows:
        text += "What auto chose, and how it did; ratios are times of the peer over times of auto, of alternating runs for the solve:\n\n"
        text += table(["problem", "chosen", "analyse ms", "numeric ms", "solve ms", "us a level", "GFlop/s", "% of copy", "error",
                       "solve ratio", "analyse ratio"], rows) + "\n"
    return text + ratio_summary(records) + total_summary(records) + analysis_summary(records)


def triangular_section(records, name, save):
    text = ""
    for dtype in unique(r["dtype"] for r in records if r["dtype"]):
        for direction in unique(r["direction"] for r in records if r["direction"]):
            for nrhs, by_columns in sorted(set((r["nrhs"], is_by_columns(r)) for r in records)):
                chosen = [r for r in records if (r["dtype"], r["direction"], r["nrhs"], is_by_columns(r)) == (dtype, direction, nrhs, by_columns)]
                if not ok(chosen):
                    continue
                title = f"{DTYPES[dtype]}, {direction}" + (f", {nrhs} right-hand sides" if nrhs > 1 else "") + (", column-major" if by_columns else "")
                text += f"## {title.capitalize()}\n\n" + triangular_tables(chosen)
                solvers = unique(solver(r) for r in ok(chosen))
                series = {s: {r["matrix"]: r["solve_ms"] for r in ok(chosen) if solver(r) == s} for s in solvers}
                stem = f"{name}-{dtype}-{direction}-{nrhs}" + ("-colmajor" if by_columns else "")
                text += save(f"{stem}-time", dot_plot(f"Solve time: {title}", "milliseconds", unique(r["matrix"] for r in ok(chosen)), series))
                series = {s: [(r.get("level_rows_mean"), r.get("us_per_level")) for r in ok(chosen) if solver(r) == s] for s in solvers}
                text += save(f"{stem}-level", scatter_plot(f"Time of a level: {title}", "rows a level (mean)", "microseconds a level", series))
    return text
