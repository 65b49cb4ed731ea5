#!/usr/bin/env python3
"""Make docs/benchmarks.md and its plots (docs/benchmarks/*.svg) from bench/results/*.jsonl.

    bench/report.py [--results bench/results] [--out docs]

Of several records of one measurement (same suite, device, problem, solver and method) the last in its file counts. Nothing
in the page is typed by hand; numbers that are not in the records are not in the page. Python standard library only.
"""
import argparse
import json
import pathlib
from statistics import harmonic_mean

from report_paper import paper_section
from report_plots import dot_plot, geometric_mean, ok, scatter_plot, short, table, unique
from report_supernodal import figure_17, supernodal_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPES = {"s": "single", "d": "double", "c": "single complex", "z": "double complex"}

# -------------------------------------------------------------------- records


def load(folder):
    """(suite, device) -> records, the last of each measurement, in the order of their first appearance."""
    groups = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"{path}:{number}: {error}") from None
            key = tuple(record.get(name) for name in ("matrix", "dtype", "op", "uplo", "direction", "nrhs", "impl", "method", "layout", "sweep"))
            groups.setdefault((record["suite"], record["device"]), {})[key] = record
    return {group: list(records.values()) for group, records in groups.items()}


def solver(record):
    return record["method"] if record["impl"] == "trine" else f"{record['impl']} {record['method']}"


# --------------------------------------------------------------------- tables


def ratio_summary(records):
    """What auto makes of the peer, in one sentence a peer."""
    text = ""
    for peer in unique(r["ratio_peer"] for r in records if r.get("ratio") and r["method"] == "auto"):
        ratios = [r["ratio"] for r in records if r["method"] == "auto" and r.get("ratio_peer") == peer and r.get("ratio")]
        slowest = min((r for r in records if r["method"] == "auto" and r.get("ratio_peer") == peer), key=lambda r: r["ratio"])
        text += (f"auto against {peer} on {len(ratios)} problems: {short(harmonic_mean(ratios))} times as fast in the harmonic mean, "
                 f"{short(geometric_mean(ratios))} in the geometric mean, least {short(min(ratios))} (`{slowest['matrix']}`).\n\n")
    return text


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
    text += table(["problem", "n", "nnz", "levels", "rows a level: min / mean / max"] + [f"{name} ms" for name in solvers], rows) + "\n"

    rows = []
    for matrix in problems:
        auto = at.get((matrix, "auto"))
        if not auto or auto["status"] != "ok":
            continue
        peer = next((r for r in ok(records) if r["matrix"] == matrix and r["impl"] == auto.get("ratio_peer")), None)
        rows.append([f"`{matrix}`", auto["chosen"], short(auto["analyse_ms"]), short(auto["numeric_ms"]), short(auto["solve_ms"]),
                     short(auto.get("us_per_level")), short(auto.get("gflops")), short(100 * auto["copy_fraction"]), f"{auto['error']:.1e}",
                     short(auto.get("ratio")), short(peer["analyse_ms"] / auto["analyse_ms"]) if peer else "-"])
    if rows:
        text += "What auto chose, and how it did; ratios are times of the peer over times of auto, of alternating runs for the solve:\n\n"
        text += table(["problem", "chosen", "analyse ms", "numeric ms", "solve ms", "us a level", "GFlop/s", "% of copy", "error",
                       "solve ratio", "analyse ratio"], rows) + "\n"
    return text + ratio_summary(records) + analysis_summary(records)


def generic_table(records):
    rows = [[f"`{r['matrix']}`", r["n"] or "-", DTYPES.get(r["dtype"], "-"), solver(r), r["chosen"] or "-", short(r["analyse_ms"]), short(r["numeric_ms"]),
             short(r["solve_ms"]), short(r["error"])] for r in ok(records)]
    return table(["problem", "n", "precision", "solver", "chosen", "analyse ms", "numeric ms", "solve ms", "error"], rows) + "\n"


def trouble(records):
    """Records that are not ok, but for what a machine or a build simply lacks: those are counted."""
    failed = [r for r in records if r["status"] == "failed"]
    skipped = [r for r in records if r["status"] == "skipped"]
    text = ""
    if failed:
        text += "Failed:\n\n" + "".join(f"- `{r['matrix']}` {r['direction'] or ''} {DTYPES.get(r['dtype'], '')} {solver(r)}: {r['reason']}\n" for r in failed) + "\n"
    if skipped:
        reasons = unique(r["reason"] for r in skipped)
        text += "Skipped: " + "; ".join(f"{sum(r['reason'] == reason for r in skipped)} x {reason}" for reason in reasons) + ".\n\n"
    return text


# --------------------------------------------------------------------- suites


def triangular_section(records, name, save):
    text = ""
    for dtype in unique(r["dtype"] for r in records if r["dtype"]):
        for direction in unique(r["direction"] for r in records if r["direction"]):
            for nrhs in sorted(set(r["nrhs"] for r in records)):
                chosen = [r for r in records if (r["dtype"], r["direction"], r["nrhs"]) == (dtype, direction, nrhs)]
                if not ok(chosen):
                    continue
                title = f"{DTYPES[dtype]}, {direction}" + (f", {nrhs} right-hand sides" if nrhs > 1 else "")
                text += f"### {title.capitalize()}\n\n" + triangular_tables(chosen)
                solvers = unique(solver(r) for r in ok(chosen))
                series = {s: {r["matrix"]: r["solve_ms"] for r in ok(chosen) if solver(r) == s} for s in solvers}
                stem = f"{name}-{dtype}-{direction}-{nrhs}"
                text += save(f"{stem}-time", dot_plot(f"Solve time: {title}", "milliseconds", unique(r["matrix"] for r in ok(chosen)), series))
                series = {s: [(r.get("level_rows_mean"), r.get("us_per_level")) for r in ok(chosen) if solver(r) == s] for s in solvers}
                text += save(f"{stem}-level", scatter_plot(f"Time of a level: {title}", "rows a level (mean)", "microseconds a level", series))
    return text


def direct_section(records, name, save):
    """Whole solves beside the library that made the factor."""
    text = ""
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
            text += f"### {title}\n\n| matrix | n | nnz(L + U) | stored for one | {' ms | '.join(series)} ms | auto against {library} | solved by | error (eps) |\n"
            text += "|---|---:|---:|---:|" + "---:|" * len(series) + "---:|---|---:|\n"
            for matrix in unique(r["matrix"] for r in chosen):
                r = panels.get(matrix) or next(r for r in chosen if r["matrix"] == matrix)
                times = " | ".join(short(points[matrix]["solve_ms"]) if matrix in points else "" for points in series.values())
                ratio = f"{r['ratio']:.2f}" if r.get("ratio") else ""
                text += f"| {matrix} | {r['n']} | {r['nnz']} | {short(r['fill']) if r.get('fill') else ''} | {times} | {ratio} | {r['chosen'] or ''} | {short(r['error'])} |\n"
            ratios = [r["ratio"] for r in panels.values() if r.get("ratio")]
            if ratios:
                mean = geometric_mean(ratios)
                text += f"\nAuto against {library}: geometric mean {mean:.2f}, least {min(ratios):.2f}, of {len(ratios)} matrices.\n"
            times = {s: {matrix: r["solve_ms"] for matrix, r in points.items()} for s, points in series.items()}
            text += "\n" + save(f"{name}-{factor}-{nrhs}", dot_plot(f"Solve time: {title}", "milliseconds", unique(r["matrix"] for r in chosen), times))
    return text


def tridiag_section(records, name, save):
    """Rows a second and part of the copy bandwidth over n, then everything."""
    text = ""
    for dtype in unique(r["dtype"] for r in records):
        chosen = [r for r in ok(records) if r["dtype"] == dtype and r.get("problem") == "gtsv" and r["nrhs"] == 1]
        for key, axis in (("grows_per_second", "10^9 rows a second"), ("copy_fraction", "part of the copy bandwidth, 9 elements a row")):
            series = {s: [(r["n"], r.get(key)) for r in chosen if solver(r) == s] for s in unique(solver(r) for r in chosen)}
            text += save(f"{name}-{dtype}-{key.split('_')[0]}", scatter_plot(f"gtsv, {DTYPES[dtype]}", "rows", axis, series) if chosen else None)
    return text + generic_table(records)


SECTIONS = {
    "direct": ("Direct solves, both triangles", direct_section),
    "sptrsv": ("Triangular solves, one right-hand side", triangular_section),
    "tridiag": ("Tridiagonal and banded solves", tridiag_section),
    "supernodal": ("Supernodal triangular solves", supernodal_section),
    "sptrsm": ("Triangular solves, many right-hand sides", triangular_section),
}


def section(suite, device, records, save):
    title, make = SECTIONS.get(suite, (suite, None))
    full = unique(r["device_full"] for r in records)
    copies = [r["copy_gbs"] for r in records if r["copy_gbs"]]
    dates = sorted(r["date"][:10] for r in records)
    text = f"## {title}: {device}\n\n{', '.join(full)}; {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else "")
    text += f"; sources at {', '.join(unique(r['commit'] for r in records))}"
    text += f"; copy bandwidth {short(min(copies))} to {short(max(copies), 4)} GB/s" if copies else ""
    reps = [r["reps"] for r in ok(records)]
    text += f"; medians of {min(reps)} or more calls.\n\n" if reps else ".\n\n"
    text += make(records, f"{suite}-{device}", save) if make else generic_table(records)
    return text + trouble(records)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    arguments = parser.parse_args()
    groups = load(arguments.results)
    if not groups:
        raise SystemExit(f"report.py: no records in {arguments.results}")
    plots = arguments.out / "benchmarks"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()

    def save(stem, svg):
        if svg is None:
            return ""
        (plots / f"{stem}.svg").write_text(svg, encoding="utf-8")
        return f"![{stem}](benchmarks/{stem}.svg)\n\n"

    text = ("# Benchmarks\n\nMade by `bench/report.py` from `bench/results/*.jsonl`, which `trine-bench` writes; the keys are described in "
            "`bench/schema.json`. Times are medians in milliseconds, with whatever a method resets or fills inside; every result was "
            "checked in long double, and the error is the largest componentwise backward error |b - Tx| / (|T||x| + |b|). `% of copy` is "
            "the least traffic of a solve (12 bytes a nonzero in double, and the vectors) at the copy bandwidth of the same run, over its "
            "time.\n\n")
    for (suite, device), records in groups.items():
        plain = records if suite == "supernodal" else [r for r in records if not r.get("sweep")]
        text += section(suite, device, plain, save) if plain else ""
    text += figure_17(groups, save)
    for device in unique(device for _, device in groups):
        text += paper_section(device, [r for (suite, d), records in groups.items() if d == device and suite in ("sptrsv", "sptrsm") for r in records if r.get("sweep")], save)
    (arguments.out / "benchmarks.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    print(f"{arguments.out / 'benchmarks.md'}: {sum(map(len, groups.values()))} records, {len(list(plots.glob('*.svg')))} plots")


if __name__ == "__main__":
    main()
