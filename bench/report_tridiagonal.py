"""Tridiagonal, block tridiagonal and banded solves, from records of trine-bench tridiag. Used by report.py."""
from report_plots import DTYPES, generic_table, ok, scatter_plot, solver, unique


def tridiag_section(records, name, save):
    """Rows a second and part of the copy bandwidth over n, then everything."""
    text = ""
    for dtype in unique(r["dtype"] for r in records):
        chosen = [r for r in ok(records) if r["dtype"] == dtype and r.get("problem") == "gtsv" and r["nrhs"] == 1]
        for key, axis in (("grows_per_second", "10^9 rows a second"), ("copy_fraction", "part of the copy bandwidth, 9 elements a row")):
            series = {s: [(r["n"], r.get(key)) for r in chosen if solver(r) == s] for s in unique(solver(r) for r in chosen)}
            text += save(f"{name}-{dtype}-{key.split('_')[0]}", scatter_plot(f"gtsv, {DTYPES[dtype]}", "rows", axis, series) if chosen else None)
    return text + generic_table(records)
