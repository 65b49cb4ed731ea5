"""The first page of the benchmarks: what auto makes of each peer, a row a kind of solve, and the plots that show it. Used by report.py."""
from statistics import harmonic_mean

from report_plots import DTYPES, geometric_mean, is_by_columns, ok, short, table, unique

NAMES = {"cusparse": "cuSPARSE", "cholmod": "CHOLMOD", "superlu": "SuperLU", "mkl": "MKL", "lapack": "LAPACK"}
SHOWN = ("sptrsv-{}-d-forward-1-time", "sptrsm-{}-d-forward-32-time", "supernodal-{}-spd", "direct-{}-cholesky-1", "tridiag-{}-d-figure12")
# What cuSPARSE, the original code of Liu et al., Ginkgo and four others were measured on: the means that trine is held to.
ELEVEN = set("tri:elas_Armadillo13K tri:airfoil_2d tri:cage11 tri:luxembourg_osm_lap tri:vsp_model1_crew1_cr42_south31_lap tri:memplus tri:G3_circuit "
             "tri:laplace3d:n=108 chol:lap_igea chol:elasticity3d:n=20 chol:laplace3d:n=40".split())
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
            groups.setdefault((what, peer), {})[r["matrix"]] = r["ratio"]
            if r["suite"] == "sptrsv" and r["matrix"] in ELEVEN and peer == "cusparse":
                groups.setdefault((f"{what}, the eleven", peer), {})[r["matrix"]] = r["ratio"]
        elif r.get("ratio") and r.get("ratio_to") == "auto" and r.get("problem") == "gtsv" and r["nrhs"] == 1:
            for name, least, most in ROWS:
                if least <= r["n"] <= most:
                    groups.setdefault((f"gtsv, {DTYPES[r['dtype']]}, {name}", f"{r['impl']} {r['method']}"), {})[r["matrix"]] = r["ratio"]
    return groups


def summary(groups, titles, plots):
    """titles: page -> its title; plots: the stems of all plots that were drawn."""
    text = ("# Benchmarks\n\nMade by `bench/report.py` from `bench/results/*.jsonl`, which `trine-bench` writes; the keys are described in\n"
            "`bench/schema.json`. A ratio is the peer's time over trine's, both from one run.\n\n")
    for device in sorted(unique(device for _, device in groups), key=lambda d: d.startswith("cpu")):
        rows = []
        for (suite, d), records in groups.items():
            page = f"{suite}-{device}"
            if d != device or page not in titles:
                continue
            plain = [r for r in records if not r.get("sweep") or r["sweep"] == "spd"]
            for (what, peer), ratios in ratios_of_auto(plain).items():
                values, least = list(ratios.values()), min(ratios, key=ratios.get)
                rows.append([f"[{titles[page].rsplit(':', 1)[0]}](benchmarks/{page}.md)", what, NAMES.get(peer, peer.replace("cusparse", "cuSPARSE")), len(values),
                             short(geometric_mean(values)), short(harmonic_mean(values)), f"{short(ratios[least])} (`{least}`)"])
        text += f"## {device}\n\n"
        if rows:
            text += table(["solve", "which", "peer", "problems", "times as fast, geometric mean", "harmonic mean", "least"], rows) + "\n"
        links = [f"[{title}](benchmarks/{page}.md)" for page, title in titles.items() if page.endswith(f"-{device}")]
        text += f"Pages: {'; '.join(links)}.\n\n" if links else ""
        for stem in (name.format(device) for name in SHOWN):
            text += f"![{stem}](benchmarks/{stem}.svg)\n\n" if stem in plots else ""
    others = [f"[{title}](benchmarks/{page}.md)" for page, title in titles.items() if not any(page.endswith(f"-{device}") for _, device in groups)]
    return text + (f"Across devices: {'; '.join(others)}.\n" if others else "")
