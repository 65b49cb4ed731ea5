"""The tables and figures of Yamazaki, Rajamanickam and Ellingwood 2020, from records of trine-bench supernodal. Used by report.py."""
from report_plots import DTYPES, dot_plot, geometric_mean, ok, scatter_plot, short, table, unique

DIRECTIONS = {"forward": "L", "backward": "L^T"}
EPS = 2.0 ** -52


def of(records, sweep, **wanted):
    return [r for r in ok(records) if (r.get("sweep") or None) == sweep and all(r.get(key) == value for key, value in wanted.items())]


def find(records, **wanted):
    return next((r for r in records if all(r.get(key) == value for key, value in wanted.items())), None)


def ms(record, key="solve_ms"):
    return short(record[key]) if record else "-"


def times(record):
    return f"{record['ratio']:.1f}" if record and record.get("ratio") else "-"


def peer_of(records):
    return next((r["impl"] for r in records if r["impl"] != "trine"), None)


def name_of(peer):
    return {"cusparse": "cuSPARSE", "cholmod": "CHOLMOD", "superlu": "SuperLU", "mkl": "MKL"}.get(peer, peer)


def methods_of(records):
    return unique(r["method"] for r in records if r["impl"] == "trine")


def means(records, methods, peer, names=("L", "L^T")):
    """Geometric means of the ratios over the peer: forward, backward, of both."""
    rows = []
    for method in methods:
        ratios = {d: [r["ratio"] for r in records if r["method"] == method and r["direction"] == d and r.get("ratio")] for d in DIRECTIONS}
        both = ratios["forward"] + ratios["backward"]
        if both:
            rows.append([f"`{method}`", len(both)] + [f"{geometric_mean(v):.1f}" if v else "-" for v in ratios.values()] +
                        [f"{geometric_mean(both):.1f}", f"{min(both):.1f}"])
    if not rows:
        return ""
    return f"Times as fast as {name_of(peer)}, geometric means:\n\n" + table(["method", "problems", *names, "both", "least"], rows) + "\n"


def plain(method):
    """As in a legend."""
    return "dynamic" if method == "supernodal" else method.removeprefix("supernodal:")


def largest_error(*records, eps=EPS):
    """Backward errors in eps, by norms (Figure 10's measure, of the triangle) and componentwise."""
    return " / ".join(short(max(r[key] / eps for r in records if r and r.get(key) is not None)) if any(r and r.get(key) is not None for r in records) else "-"
                      for key in ("normwise", "error"))


# --------------------------------------------------------------- single tables


def main_table(records, save, name):
    chosen = of(records, None)
    text = ""
    for nrhs in sorted(set(r["nrhs"] for r in chosen)):
        here = [r for r in chosen if r["nrhs"] == nrhs]
        peer, rows = peer_of(here), []
        for matrix in unique(r["matrix"] for r in here):
            for method in unique(r["method"] for r in here if r["matrix"] == matrix):
                one, other = (find(here, matrix=matrix, method=method, direction=d) for d in DIRECTIONS)
                first = one or other
                who = f"`{method}`" if first["impl"] == "trine" else f"{name_of(first['impl'])} {method}"
                rows.append([f"`{matrix}`", first["n"], first["nnz"], who, ms(first, "analyse_ms"), ms(first, "numeric_ms"), ms(one), ms(other),
                             times(one), times(other), largest_error(one, other)])
        title = f"{nrhs} right-hand side{'s' if nrhs > 1 else ''}"
        text += f"## {title}\n\n"
        text += table(["matrix", "n", "nnz(L)", "solver", "symbolic ms", "numeric ms", "L ms", "L^T ms", f"L: times {name_of(peer)}", "L^T", "error: norms / componentwise (eps)"], rows)
        text += "\n" + means(here, methods_of(here), peer)
        for direction, letter in DIRECTIONS.items():
            series = {}
            for r in (r for r in here if r["direction"] == direction):
                series.setdefault(r["method"] if r["impl"] == "trine" else f"{r['impl']} {r['method']}", {})[r["matrix"]] = r["solve_ms"]
            text += save(f"{name}-{direction}-{nrhs}", dot_plot(f"Solves with {letter}, {title}", "milliseconds", unique(r["matrix"] for r in here), series))
    return text


def split_access(method):
    """"supernodal:team:pull" -> ("supernodal:team", "pull")"""
    parts = method.split(":")
    access = next((p for p in parts if p in ("push", "pull")), "")
    return ":".join(p for p in parts if p not in ("push", "pull")), access


def variants(records, save, name):
    """Figures 11 and 12: push goes through the factor by columns of L (CSC), pull by its rows (CSR); for L^T the other way round."""
    text = ""
    chosen = of(records, "variants")
    for matrix in unique(r["matrix"] for r in chosen):
        here = [r for r in chosen if r["matrix"] == matrix]
        at = {}
        for r in (r for r in here if r["impl"] == "trine"):
            base, access = split_access(r["method"])
            at.setdefault(base, {}).setdefault((r["direction"], access or ("push" if r["direction"] == "forward" else "pull")), r)
        rows = []
        for peer in (r for r in here if r["impl"] != "trine" and r["direction"] == "forward"):
            other = find(here, impl=peer["impl"], direction="backward")
            rows.append([f"{name_of(peer['impl'])} {peer['method']}", ms(peer, "analyse_ms"), ms(peer, "numeric_ms"), ms(peer), "", ms(other), "", "1", "", "", ""])
        for base, runs in at.items():
            cells = [runs.get(key) for key in (("forward", "push"), ("forward", "pull"), ("backward", "pull"), ("backward", "push"))]
            first = next(r for r in cells if r)
            rows.append([f"`{base}`", ms(first, "analyse_ms"), ms(first, "numeric_ms")] + [ms(r) for r in cells] +
                        [short(first.get("fill")), times(cells[0]), times(cells[2]), largest_error(*cells)])
        text += f"## Figures 11 and 12: variants, `{matrix}`\n\n"
        text += table(["variant", "symbolic ms", "compute ms", "L push (CSC) ms", "L pull (CSR) ms", "L^T pull ms", "L^T push ms", "fill",
                       f"L: times {name_of(peer_of(here))}", "L^T", "error: norms / componentwise (eps)"], rows) + "\n"
        series = {letter: {r["method"]: r["solve_ms"] for r in here if r["direction"] == direction} for direction, letter in DIRECTIONS.items()}
        stem = matrix.replace("chol:", "").replace(":", "-").replace("=", "")
        text += save(f"{name}-variants-{stem}", dot_plot(f"Variants: {matrix}", "milliseconds", unique(r["method"] for r in here), series))
    return text


def full_inverse(records, save, name):
    chosen = of(records, "full")
    if not chosen:
        return ""
    rows = []
    for matrix in unique(r["matrix"] for r in chosen):
        for method in unique(r["method"] for r in chosen if r["matrix"] == matrix):
            one, other = (find(chosen, matrix=matrix, method=method, direction=d) for d in DIRECTIONS)
            rows.append([f"`{matrix}`", (one or other)["n"], f"`{method}`", ms(one, "analyse_ms"), ms(one, "numeric_ms"), ms(one), ms(other),
                         short((one or other).get("fill")), times(one), times(other)])
    return ("## Figure 12b: the inverse of the whole factor, where n allows it\n\n" +
            table(["matrix", "n", "method", "symbolic ms", "compute ms", "L ms", "L^T ms", "fill", "L: times SpSV", "L^T"], rows) + "\n")


def sizes(records, save, name):
    chosen = of(records, "sizes")
    if not chosen:
        return ""
    peer, rows, series = peer_of(chosen), [], {}
    for matrix in unique(r["matrix"] for r in chosen):
        for direction, letter in DIRECTIONS.items():
            here = [r for r in chosen if r["matrix"] == matrix and r["direction"] == direction]
            if not here:
                continue
            own = [r for r in here if r["impl"] == "trine"]
            rows.append([f"`{matrix}`", letter, here[0]["n"], here[0]["nnz"], ms(find(here, impl=peer))] +
                        [f"{ms(find(own, method=m))} ({times(find(own, method=m))})" for m in methods_of(chosen)])
            for r in own:
                if r.get("ratio"):
                    series.setdefault(f"{plain(r['method'])} {letter}", []).append((r["n"], r["ratio"]))
    return ("## Figure 15a: elasticity at several sizes\n\n" +
            table(["matrix", "", "n", "nnz(L)", f"{name_of(peer)} ms"] + [f"`{m}` ms (times as fast)" for m in methods_of(chosen)], rows) + "\n" +
            save(f"{name}-sizes", scatter_plot(f"Elasticity: times as fast as {name_of(peer)}", "n", "times as fast", series, lines=True)))


def spd(records, save, name):
    chosen = of(records, "spd")
    if not chosen:
        return ""
    peer, rows, series = peer_of(chosen), [], {letter: {} for letter in DIRECTIONS.values()}
    matrices = unique(r["matrix"] for r in chosen)
    for matrix in matrices:
        own = [find(chosen, matrix=matrix, impl="trine", direction=d) for d in DIRECTIONS]
        theirs = [find(chosen, matrix=matrix, impl=peer, direction=d) for d in DIRECTIONS]
        first = own[0] or own[1]
        if not first:
            continue
        rows.append([f"`{matrix}`", first["n"], short(first["nnz"] / first["n"]), short(first.get("panels"), 9), short(first.get("panel_levels"), 9),
                     short(first.get("fill")), ms(first, "analyse_ms"), ms(first, "numeric_ms"), ms(theirs[0]), ms(own[0]), ms(theirs[1]), ms(own[1]),
                     times(own[0]), times(own[1]), largest_error(*own)])
        for r, letter in zip(own, series):
            if r and r.get("ratio"):
                series[letter][matrix] = r["ratio"]
    return ("## Figures 10 and 16: Cholesky factors of real matrices\n\n" +
            table(["matrix", "n", "nnz(L)/n", "supernodes", "levels", "fill", "symbolic ms", "compute ms", f"{name_of(peer)} L ms", "L ms",
                   f"{name_of(peer)} L^T ms", "L^T ms", "L: times as fast", "L^T", "error: norms / componentwise (eps)"], rows) + "\n" +
            means(chosen, methods_of(chosen), peer) +
            save(f"{name}-spd", dot_plot(f"Cholesky factors: times as fast as {name_of(peer)}", "times as fast", matrices, series)))


# ------------------------------------------------- SuperLU's factors, precisions


def solves(records, columns):
    """A row a problem, precision and solver: both triangles, and what they make of the peer."""
    rows = []
    peers = unique(r["impl"] for r in ok(records) if r["impl"] != "trine")
    peer = peers[0] if len(peers) == 1 else "the peer"
    for matrix, dtype in unique((r["matrix"], r["dtype"]) for r in records):
        here = [r for r in records if (r["matrix"], r["dtype"]) == (matrix, dtype)]
        eps = 2.0 ** -23 if dtype in "sc" else EPS
        for method in unique(r["method"] for r in here):
            one, other = (find(here, method=method, direction=d) for d in DIRECTIONS)
            first = one or other
            who = f"`{method}`" if first["impl"] == "trine" else f"{name_of(first['impl'])} {method}"
            chosen = " / ".join(unique(r["chosen"] for r in (one, other) if r and r["chosen"]))
            rows.append([f"`{matrix}`"] + ([DTYPES[dtype]] if "precision" in columns else []) +
                        [first["n"], " / ".join(str(r["nnz"]) for r in (one, other) if r), who, chosen, ms(first, "analyse_ms"), ms(first, "numeric_ms"), ms(one), ms(other),
                         times(one), times(other), largest_error(one, other, eps=eps)])
    head = ["matrix"] + columns + ["n", "nnz", "solver", "chosen", "symbolic ms", "numeric ms", "forward ms", "backward ms", f"forward: times {name_of(peer)}", "backward",
                                   "error: norms / componentwise (eps)"]
    return table(head, rows) + "\n" + means(records, methods_of(records), peer, ("forward", "backward"))


def solves_of(records, sweep, title, columns):
    chosen = of(records, sweep)
    return "".join(f"## {title}, {nrhs} right-hand side{'s' if nrhs > 1 else ''}\n\n" + solves([r for r in chosen if r["nrhs"] == nrhs], columns)
                   for nrhs in sorted(set(r["nrhs"] for r in chosen)))


def lu(records, save, name):
    return solves_of(records, "lu", "SuperLU's factors: L forward, U backward", [])


def types(records, save, name):
    return solves_of(records, "types", "Four precisions", ["precision"])


# -------------------------------------------------------- levels and launches


def numbers(text):
    return [float(word) for word in (text or "").split()]


def levels(records, save, name):
    """Figure 14."""
    text = ""
    chosen = [r for r in of(records, "levels") if r.get("level_us")]
    for matrix in unique(r["matrix"] for r in chosen):
        for direction, letter in DIRECTIONS.items():
            here = [r for r in chosen if r["matrix"] == matrix and r["direction"] == direction]
            if not here:
                continue
            columns = {r["method"]: numbers(r["level_us"]) for r in here}
            panels, entries = numbers(here[0]["level_panels"]), numbers(here[0]["level_entries"])
            rows = [[k + 1, f"{panels[k]:.0f}", f"{entries[k]:.0f}"] + [short(column[k]) if k < len(column) else "-" for column in columns.values()]
                    for k in range(len(panels))]
            rows.append(["all", f"{sum(panels):.0f}", f"{sum(entries):.0f}"] + [short(sum(column)) for column in columns.values()])
            rows.append(["the solve", "", ""] + [short(1e3 * r["solve_ms"]) for r in here])
            marks = [r["mark_us"] for r in here if r.get("mark_us")]
            text += (f"## Figure 14: time of each level, {letter} of `{matrix}`\n\nMicroseconds, in the order of the solve, of one CUDA graph with an event "
                     f"between levels; two events with nothing between them are {short(max(marks))} apart.\n\n")
            text += table(["level", "supernodes", "entries"] + [f"`{method}`" for method in columns], rows) + "\n"
            series = {plain(method): [(k + 1, us) for k, us in enumerate(column)] for method, column in columns.items()}
            stem = matrix.replace("chol:", "").replace(":", "-").replace("=", "")
            text += save(f"{name}-levels-{stem}-{direction}", scatter_plot(f"Time of each level: {letter} of {matrix}", "level", "microseconds", series, lines=True))
    return text


def launches(records, save, name):
    """Figure 15b."""
    chosen = [r for r in of(records, "launch") if r.get("kernels")]
    if not chosen:
        return ""
    rows, series = [], {}
    for matrix in unique(r["matrix"] for r in chosen):
        for direction, letter in DIRECTIONS.items():
            here = [r for r in chosen if r["matrix"] == matrix and r["direction"] == direction]
            for r in (r for r in here if not r["method"].endswith(":nograph")):
                host = find(here, method=r["method"] + ":nograph")
                rows.append([f"`{matrix}`", letter, f"`{r['method']}`", f"{r['kernels']:.0f}", ms(r), short(r["launch_ms"]),
                             short(max(r["solve_ms"] - r["launch_ms"], 0)), f"{100 * min(r['launch_ms'] / r['solve_ms'], 1):.0f}%", ms(r, "host_ms"),
                             ms(host), ms(host, "host_ms")])
                row = f"{matrix} {letter} {plain(r['method'])}"
                series.setdefault("kernels", {})[row] = r["solve_ms"] - r["launch_ms"]
                series.setdefault("launches", {})[row] = r["launch_ms"]
                if host:
                    series.setdefault("launched from the host", {})[row] = host["solve_ms"]
    return ("## Figure 15b: kernels and launches\n\nLaunches: the time of the same graph with an empty kernel in the place of every kernel. Kernels: the rest "
            "of the solve's time. Host: until the call returns.\n\n" +
            table(["matrix", "", "variant", "kernels", "solve ms", "launches ms", "kernels ms", "launches", "host ms", "without a graph: solve ms", "host ms"],
                  rows) + "\n" +
            save(f"{name}-launch", dot_plot("Kernels and launches", "milliseconds", list(series["launches"]), series)))


def supernodal_section(records, name, save):
    return "".join(make(records, save, name) for make in (main_table, spd, lu, types, variants, full_inverse, sizes, levels, launches))
