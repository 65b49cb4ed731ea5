"""The first page of the benchmarks: what auto makes of each peer, a row a kind of solve, and the plots that show it. Used by report.py."""
from statistics import harmonic_mean

from report_plots import DTYPES, geometric_mean, is_by_columns, ok, short, strip_plot, table, unique
from report_whole import whole_rows
from report_spmv import kind_of_product

NAMES = {"cusparse": "cuSPARSE", "cholmod": "CHOLMOD", "superlu": "SuperLU", "mkl": "MKL", "lapack": "LAPACK"}
SHOWN = ("sptrsv-{}-d-forward-1-time", "sptrsm-{}-d-forward-32-time", "supernodal-{}-spd", "direct-{}-cholesky-1", "tridiag-{}-d-figure12", "spmv-{}-s-1-figure24")
# What cuSPARSE, the original code of Liu et al., Ginkgo and four others were measured on: the means that trine is held to.
ELEVEN = set("tri:elas_Armadillo13K tri:airfoil_2d tri:cage11 tri:luxembourg_osm_lap tri:vsp_model1_crew1_cr42_south31_lap tri:memplus tri:G3_circuit "
             "tri:laplace3d:n=108 chol:lap_igea chol:elasticity3d:n=20 chol:laplace3d:n=40".split())
EXPECTED = {"auto:solves=100": "100 solves expected", "auto:solves=1000": "1000 solves expected"}
ROWS = [("up to 2^14 rows", 0, 2 ** 14), ("2^20 rows", 2 ** 20, 2 ** 20), ("2^24 rows and more", 2 ** 24, 2 ** 40)]


def ratios_of_auto(records):
    """(what, peer) -> (ratio, matrix) of every problem; ratios are the peer's time over trine's."""
    groups = {}
    for r in ok(records):
        peer = r.get("ratio_peer") or {"cholesky": "cholmod", "lu": "superlu"}.get(r.get("factor"))
        if r.get("ratio") and peer and r["method"] == ("supernodal" if r["suite"] == "supernodal" else "auto"):
            many = (f", {r['nrhs']} right-hand sides" if r["nrhs"] > 1 else "") + (", column-major" if r["suite"] == "sptrsm" and is_by_columns(r) else "")
            what = f"{r['direction']}{many}" if r["direction"] else f"{r.get('factor')}{many}"
            if r["suite"] == "supernodal":
                what = f"{'L' if r['direction'] == 'forward' else 'L^T'}{many}"
            if r["suite"] == "spmv":
                what, peer = kind_of_product(r), "the fastest"
            groups.setdefault((what, peer), {})[r["matrix"]] = r["ratio"]
            if r["suite"] == "sptrsv" and r["matrix"] in ELEVEN and peer == "cusparse":
                groups.setdefault((f"{what}, the eleven", peer), {})[r["matrix"]] = r["ratio"]
        elif r.get("ratio") and peer and r["suite"] == "sptrsv" and r["method"] in EXPECTED and r["dtype"] == "d":
            groups.setdefault((f"{r['direction']}, {EXPECTED[r['method']]}", peer), {})[r["matrix"]] = r["ratio"]
        elif r.get("ratio") and r.get("ratio_to") == "auto" and r.get("problem") == "gtsv" and r["nrhs"] == 1:
            for name, least, most in ROWS:
                if least <= r["n"] <= most:
                    groups.setdefault((f"gtsv, {DTYPES[r['dtype']]}, {name}", f"{r['impl']} {r['method']}"), {})[r["matrix"]] = r["ratio"]
    return groups


def plain_of(records):
    return [r for r in records if not r.get("sweep") or r["sweep"] == "spd"]


def headline_rows(groups):
    """What the README shows of a GPU and of two cores, each a list of (title, a mean, part of the row -> ratios). A row whose records are not there is
    left out."""
    def row(title, suite, device, peer, mean, parts):
        """parts: what of ratios_of_auto -> its name in the row."""
        ratios = ratios_of_auto(plain_of(groups.get((suite, device), [])))
        values = {name: list(ratios.get((what, peer), {}).values()) for what, name in parts.items()}
        return [(title.format(len(next(iter(values.values())))), mean, values)] if all(values.values()) else []

    gpu = next((device for _, device in groups if not device.startswith("cpu")), "")
    there = row("triangular solve, one right-hand side, {} matrices", "sptrsv", gpu, "cusparse", harmonic_mean,
                {"forward, the eleven": "forward", "backward, the eleven": "backward"})
    there += row("triangular solve, 1000 solves expected of a plan, {} matrices", "sptrsv", gpu, "cusparse", geometric_mean,
                 {f"{direction}, {EXPECTED['auto:solves=1000']}": direction for direction in ("forward", "backward")})
    there += row("triangular solve forward, several right-hand sides, {} matrices", "sptrsm", gpu, "cusparse", geometric_mean,
                 {f"forward, {n} right-hand sides": f"with {n}" for n in (8, 32, 64)})
    there += row("with Cholesky and LU factors as dense panels, {} factors", "supernodal", gpu, "cusparse", geometric_mean, {"L": "for L", "L^T": "for L^T"})
    there += row("tridiagonal with pivoting, 2^24 rows and more", "tridiag", gpu, "cusparse gtsv2", geometric_mean,
                 {f"gtsv, {t}, 2^24 rows and more": t for t in ("single", "double")})
    there += row("product with a vector, double, {} matrices", "spmv", gpu, "the fastest", geometric_mean, {"double, beta = 0": ""})
    cpu = "cpu-2t"
    here = row("triangular solve beside MKL, one right-hand side, {} matrices", "sptrsv", cpu, "mkl", geometric_mean, {"forward": "forward", "backward": "backward"})
    here += row("product with a vector beside MKL, double, {} matrices", "spmv", cpu, "the fastest", geometric_mean, {"double, beta = 0": ""})
    here += [(title, geometric_mean, {"": values}) for title, values in whole_rows(groups, cpu)]
    return [(f"on {'an H200' if gpu == 'h200' else gpu}, beside cuSPARSE", there), ("on two cores", here)]


def headlines(groups):
    """README's table: what auto makes of each peer; what is slower is told as well."""
    def cells(title, mean, parts):
        digits = 1 if min(mean(v) for v in parts.values()) >= 1.05 else 2
        means = ", ".join(f"{mean(v):.{digits}f} {name}".rstrip() for name, v in parts.items())
        name = {harmonic_mean: "harmonic", geometric_mean: "geometric"}[mean] + (" means" if len(parts) > 1 else " mean")
        values = [value for v in parts.values() for value in v]
        slower = sum(value < 1 for value in values)
        return [title, f"{means} ({name}; least {min(values):.2f}" + (f"; slower on {slower})" if slower else ")")]

    (on_gpu, there), (on_cpu, here) = headline_rows(groups)
    if not there or not here:
        return ""
    return table([on_gpu, "times as fast"], [cells(*row) for row in there] + [[f"**{on_cpu}**", ""]] + [cells(*row) for row in here], 2)


def headline_plot(groups):
    """The README's table as a picture: a dot a problem, a bar at the mean; left of the line at 1 trine is slower."""
    parts = [(where, rows) for where, rows in headline_rows(groups) if rows]
    return strip_plot("Times as fast as the other library: a dot a matrix, a bar at the geometric mean", "the other library's time over trine's", "slower", "faster",
                      [(where, [(title.replace(", the fastest of CHOLMOD, SuperLU, UMFPACK and KLU", " (*)"), [v for values in found.values() for v in values]) for title, _, found in rows]) for where, rows in parts],
                      "(*) beside the fastest of CHOLMOD, SuperLU, UMFPACK and KLU") if parts else None


def summary(groups, pages, plots, links):
    """pages: name -> Markdown of it; plots: the stems of those that may be shown; links: to the pages, or their names alone."""
    titles = {name: text.split("\n", 1)[0].removeprefix("# ") for name, text in pages.items()}

    def link(page, title):
        return f"[{title}](benchmarks/{page}.md)" if links else title

    text = ("# Benchmarks\n\nMade by `bench/report.py` from `bench/results/*.jsonl`, which `trine-bench` writes; the keys are described in\n"
            "`bench/schema.json`. A ratio is the peer's time over trine's, both from one run.\n")
    text += "\n" if links else "`make docs` makes a page with every number and plots for each of these solves, in `build/docs`.\n\n"
    text += "![Times as fast as other libraries](benchmarks/headlines.svg)\n\n" if "headlines" in plots else ""
    for device in sorted(unique(device for _, device in groups), key=lambda d: d.startswith("cpu")):
        rows = []
        for (suite, d), records in groups.items():
            page = f"{suite}-{device}"
            if d != device or page not in titles:
                continue
            for (what, peer), ratios in ratios_of_auto(plain_of(records)).items():
                values, least = list(ratios.values()), min(ratios, key=ratios.get)
                rows.append([link(page, titles[page].rsplit(":", 1)[0]), what, NAMES.get(peer, peer.replace("cusparse", "cuSPARSE")), len(values),
                             short(geometric_mean(values)), short(harmonic_mean(values)), f"{short(ratios[least])} (`{least}`)"])
        text += f"## {device}\n\n"
        if rows:
            text += table(["solve", "which", "peer", "problems", "times as fast, geometric mean", "harmonic mean", "least"], rows, 3) + "\n"
        here = [link(page, title) for page, title in titles.items() if page.endswith(f"-{device}")]
        text += f"Pages: {'; '.join(here)}.\n\n" if here else ""
        for stem in (name.format(device) for name in SHOWN):
            text += f"![{stem}](benchmarks/{stem}.svg)\n\n" if stem in plots else ""
    others = [link(page, title) for page, title in titles.items() if not any(page.endswith(f"-{device}") for _, device in groups)]
    return (text + (f"Across devices: {'; '.join(others)}.\n" if others else "")).rstrip() + "\n"
