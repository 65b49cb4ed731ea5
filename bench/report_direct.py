"""Whole direct solves beside the libraries that made the factors, from records of trine-bench direct. Used by report.py."""
from report_plots import dot_plot, geometric_mean, ok, short, table, unique


def single_precision(records):
    """Factors in single precision: what a solve costs with refinement, and how good it is."""
    methods = ["auto", "single", "single:refine=1", "single:refine=2"]
    cells = {(r["matrix"], r["nrhs"], r["method"]): r for r in ok(records) if r["method"] in methods}
    problems = unique((matrix, nrhs) for matrix, nrhs, method in cells if method == "single")
    if not problems:
        return ""
    rows = [[f"`{matrix}`", nrhs] + [f"{short(r['solve_ms'])} ({short(r['error'])})" if r else "-"
                                     for r in (cells.get((matrix, nrhs, method)) for method in methods)] for matrix, nrhs in problems]
    return ("## Factors in single precision\n\nMilliseconds of a whole solve, and in brackets its normwise backward error in eps of double precision.\n\n" +
            table(["matrix", "right-hand sides", "factors in double", "in single", "one step of refinement", "two steps"], rows) + "\n")


def direct_section(records, name, save):
    """Whole solves beside the library that made the factor; on a GPU there is none."""
    text = single_precision(records)
    records = [r for r in records if not r["method"].startswith("single")]
    for factor, library in (("cholesky", "CHOLMOD"), ("lu", "SuperLU")):
        for nrhs in sorted(set(r["nrhs"] for r in records)):
            chosen = [r for r in ok(records) if (r.get("factor"), r["nrhs"]) == (factor, nrhs)]
            if not chosen:
                continue
            title = f"{library}'s factors, {nrhs} right-hand side{'s' if nrhs > 1 else ''}"
            series = {}
            for r in chosen:
                series.setdefault(library if r["impl"] != "trine" else r["method"], {})[r["matrix"]] = r
            panels = series.get("auto", {})
            against = library in series
            text += f"## {title}\n\n| matrix | n | nnz(L + U) | stored for one | {' ms | '.join(series)} ms |{f' auto against {library} |' * against} solved by | error (eps) |\n"
            text += "|---|---:|---:|---:|" + "---:|" * (len(series) + against) + "---|---:|\n"
            for matrix in unique(r["matrix"] for r in chosen):
                r = panels.get(matrix) or next(r for r in chosen if r["matrix"] == matrix)
                times = " | ".join(short(points[matrix]["solve_ms"]) if matrix in points else "" for points in series.values())
                ratio = f" {r['ratio']:.2f} |" if r.get("ratio") else " |" * against
                text += f"| {matrix} | {r['n']} | {r['nnz']} | {short(r['fill']) if r.get('fill') else ''} | {times} |{ratio} {r['chosen'] or ''} | {short(r['error'])} |\n"
            ratios = [r["ratio"] for r in panels.values() if r.get("ratio")]
            if ratios:
                mean = geometric_mean(ratios)
                text += f"\nAuto against {library}: geometric mean {mean:.2f}, least {min(ratios):.2f}, of {len(ratios)} matrices.\n"
            times = {s: {matrix: r["solve_ms"] for matrix, r in points.items()} for s, points in series.items()}
            text += "\n" + save(f"{name}-{factor}-{nrhs}", dot_plot(f"Solve time: {title}", "milliseconds", unique(r["matrix"] for r in chosen), times))
    return text


def figure_17(groups, save):
    """Whole solves on one and more CPU threads beside SuperLU's own on one, from the records of suite direct."""
    threads = {device: [r for r in ok(records) if r.get("factor") == "lu" and r["nrhs"] == 1]
               for (suite, device), records in groups.items() if suite == "direct" and device.startswith("cpu-")}
    if "cpu-1t" not in threads or len(threads) < 2:
        return ""
    superlu = {r["matrix"]: r for r in threads["cpu-1t"] if r["impl"] == "superlu"}
    own = {device: {r["matrix"]: r for r in records if r["impl"] == "trine" and r["method"] == "auto"} for device, records in threads.items()}
    matrices = [m for m in superlu if all(m in records for records in own.values())]
    rows = [[m, superlu[m]["n"], superlu[m]["nnz"], short(superlu[m]["solve_ms"])] +
            [cell for records in own.values() for cell in (short(records[m]["solve_ms"]), f"{superlu[m]['solve_ms'] / records[m]['solve_ms']:.2f}")] for m in matrices]
    head = ["matrix", "n", "nnz(L + U)", "SuperLU, 1 core, ms"] + [cell for device in own for cell in (f"{device} ms", "times SuperLU")]
    text = "# Figure 17 of Yamazaki et al. 2020: SuperLU's factors on CPU threads\n\n" + table(head, rows)
    for device, records in own.items():
        text += f"\n{device}: {geometric_mean([superlu[m]['solve_ms'] / records[m]['solve_ms'] for m in matrices]):.2f} times as fast as SuperLU on one core, geometric mean.\n"
    series = {"SuperLU, 1 core": {m: superlu[m]["solve_ms"] for m in matrices}} | {d: {m: records[m]["solve_ms"] for m in matrices} for d, records in own.items()}
    return text + "\n" + save("supernodal-figure17", dot_plot("Whole solve with SuperLU's factors", "milliseconds", matrices, series))
