"""Tables inside documents that are written by hand: what stands between `<!-- record: NAME -->` and `<!-- end of record -->` is
replaced by the table of that name, from the records. A table whose records are not there stays as it is. Used by report.py."""
import re

from report_petsc import sentence_of_network, speeds, table_of_direct, table_of_prediction, table_of_scaling, table_of_schwarz, table_of_steps
from report_plots import DTYPES, ok, short, table, unique
from report_precond import beside_cusparse, claims, preconditioners, sentence_of_auto
from report_splittings import figure_30, figure_34, figure_35, figure_39, figure_40, figures_36_to_38, sentence_of_figure_40, table_17
from report_summary import headlines
from report_tridiagonal import power
from report_whole import beside_cudss, which_method

MARKED = re.compile(r"(<!-- record: ([\w-]+) -->\n?).*?(<!-- end of record -->)", re.S)
PRECISIONS = ("s", "d")


class Records:
    """Times of one device's records of suite tridiag."""

    def __init__(self, groups, device):
        self.all = ok(groups.get(("tridiag", device), []))
        self.at = {(r["problem"], r["dtype"], r["n"], r["nrhs"], r["systems"], r["method"]): r for r in self.all if "systems" in r}

    def get(self, problem, dtype, n, method, nrhs=1, systems=1):
        return self.at.get((problem, dtype, n, nrhs, systems, method))

    def us(self, *key, **more):
        record = self.get(*key, **more)
        return 1e3 * record["solve_ms"] if record else None

    def sizes(self, problem, nrhs=1):
        return sorted(unique(r["n"] for r in self.all if r["problem"] == problem and r["nrhs"] == nrhs))


def faster(peer, own, digits=1):
    return f"{peer / own:.{digits}f}" if peer and own else "-"


def sizes(gpu):
    lines = []
    for n in gpu.sizes("gtsv"):
        if n.bit_length() % 2 == 0:
            continue
        line = [power(n)]
        for t in PRECISIONS:
            own, pivoted, plain = (gpu.us("gtsv", t, n, m) for m in ("auto", "gtsv2", "gtsv2_nopivot"))
            line += [short(own), short(pivoted), faster(pivoted, own), faster(plain, own)]
        lines.append(line)
    return table(["rows"] + ["S", "gtsv2", "times as fast", "as gtsv2_nopivot", "D", "gtsv2", "times as fast", "as gtsv2_nopivot"], lines) if lines else ""


def passes(gpu):
    lines = []
    for n in gpu.sizes("passes"):
        for t in PRECISIONS:
            two, one = (gpu.get("passes", t, n, m) for m in ("two-pass", "one-pass"))
            if two and one:
                peer = gpu.us("passes", t, n, "gtsv2")
                lines.append([power(n), DTYPES[t], short(1e3 * two["solve_ms"], 4), f"{100 * two['copy_fraction']:.0f} %", faster(peer, 1e3 * two["solve_ms"]),
                              short(1e3 * one["solve_ms"], 4), f"{100 * one['copy_fraction_one_pass']:.0f} %", faster(two["solve_ms"], one["solve_ms"], 2)])
    return table(["rows", "precision", "two passes", "of copy (9 elements)", "times as fast as gtsv2", "one pass", "of copy (5 elements)", "times as fast as two"], lines) if lines else ""


def columns(gpu):
    lines = []
    for n in gpu.sizes("32 right-hand sides", 32):
        line = [power(n)]
        for t in PRECISIONS:
            own, pivoted = (gpu.us("32 right-hand sides", t, n, m, nrhs=32) for m in ("auto", "gtsv2"))
            line += [short(own), short(pivoted), faster(pivoted, own)]
        lines.append(line)
    return table(["rows", "S", "gtsv2", "times as fast", "D", "gtsv2", "times as fast"], lines) if lines else ""


def cpu_sizes(cpu):
    lines = []
    for t in PRECISIONS:
        for n in cpu.sizes("gtsv"):
            peer, one, two = (cpu.us("gtsv", t, n, m) for m in ("gtsv", "threads=1", "auto"))
            if n.bit_length() % 2 == 1 and n >= 2 ** 12 and peer and one:
                lines.append([DTYPES[t], power(n), short(peer / 1e3), short(one / 1e3), short(two / 1e3), faster(peer, one, 2), faster(peer, two, 2)])
    return table(["precision", "n", "LAPACK", "trine, 1 thread", "2 threads", "1 thread faster by", "2 threads"], lines) if lines else ""


def batches(gpu):
    lines = []
    for layout, pivoted, plain in (("interleaved", "gtsvInterleavedBatch:1", "gtsvInterleavedBatch:0"), ("contiguous", None, "gtsv2StridedBatch")):
        for t in PRECISIONS:
            for n in gpu.sizes(f"batch {layout}"):
                own, with_pivoting, without = (m and gpu.us(f"batch {layout}", t, n, m, systems=2 ** 20 // n) for m in ("auto", pivoted, plain))
                lines.append([layout, DTYPES[t], n, short(own), short(with_pivoting), short(without)])
    return table(["layout", "precision", "n", "trine", "cuSPARSE, pivoting", "cuSPARSE, none"], lines) if lines else ""


def errors(groups, device):
    """(table, label) -> method -> record of suite tridiag-numerics, cuSPARSE's and LAPACK's by their library."""
    found = {}
    for r in groups.get(("tridiag-numerics", device), []):
        if r["status"] == "ok":
            found.setdefault((r["problem"], r["label"]), {})[r["method"] if r["impl"] == "trine" else r["impl"]] = r
    return found


def no_digits(groups, device):
    """Backward errors in eps where the condition leaves no digit of x."""
    on_gpu, on_cpu = errors(groups, device), errors(groups, "cpu-2t")

    def eps(r):
        return f"{r['backward_error'] / 2 ** -52:.3g}" if r and r["backward_error"] is not None else "-"

    def default(methods):
        return methods.get("auto") or methods.get("blocks")

    lines = [[f"{problem.split(': ')[1]}, {label}", eps(methods.get("lapack")), eps(methods.get("cusparse")), eps(default(methods)), eps(methods.get("two-pass")), eps(methods.get("stages")),
              eps(default(on_cpu.get((problem, label), {})))] for (problem, label), methods in on_gpu.items() if any(r["judged_by"] == "backward error" for r in methods.values())]
    return table(["matrix", "LAPACK", "cuSPARSE", "GPU", "by two passes", "by stages", "CPU"], lines) if lines else ""


def determinants(groups, device):
    """Forward errors of the pivoting schemes of bands."""
    methods = ("lapack", "auto", "partial", "none", "partial-determinant", "scaled-determinant")
    names = {"1": "all U(-1,1)", "12": "lowest band times 1e-50", "15": "diagonal 1e-8", "16": "diagonal 0", "17": "(1, 1, 1e-8, 1, 1)"}
    of_label = {label: found for (problem, label), found in errors(groups, device).items() if problem.startswith("Table 7")}
    lines = [[f"{label}, {names[label]}"] + [f"{of_label[label][m]['error']:.1e}" if m in of_label[label] else "-" for m in methods] for label in names if label in of_label]
    return table(["matrix", "LAPACK gbsv", "rows, scaled (default)", "rows", "none", "determinants", "determinants, scaled"], lines) if lines else ""


def applications(groups, device):
    """Table 9: forward errors on a GPU and on a CPU."""
    on_gpu, on_cpu = errors(groups, device), errors(groups, "cpu-2t")
    found = [key for key in {**on_gpu, **on_cpu} if key[0].startswith("Table 9")]
    lines = []
    for key in found:
        there, here = on_gpu.get(key, {}), on_cpu.get(key, {})
        lines.append([key[1]] + [f"{r['error']:.1e}" if r else "-" for r in (there.get("lapack") or here.get("lapack"), there.get("auto"), here.get("auto"))])
    return table(["matrix", "LAPACK gbsv", "GPU", "CPU"], lines) if lines else ""


def sparse(gpu):
    methods = ("csc2dense", "csc2csc", "auto", "gtsv2")
    lines = [[DTYPES[t], power(n)] + [short(gpu.us("sparse", t, n, m, nrhs=128)) for m in methods] for t in PRECISIONS for n in gpu.sizes("sparse", 128)]
    return table(["precision", "rows", "csc2dense", "csc2csc", "gtsv", "gtsv2"], lines) if lines else ""


def blocks(gpu):
    lines = []
    for method in ("bgtsv", "bgtf", "bgtfs"):
        for n in (2, 3, 4):
            rows = max(gpu.sizes(f"blocks of {n}"), default=0)
            records = [gpu.get(f"blocks of {n}", t, rows, method) for t in PRECISIONS]
            if all(records):
                share = [f"{100 * r['copy_fraction']:.0f} %" if method == "bgtsv" else "" for r in records]
                lines.append([f"{method}, n = {n}"] + [short(1e3 * r["solve_ms"], 4) for r in records] + share)
    for k in (2, 3, 4):
        rows = max(gpu.sizes(f"gbsv kl=ku={k}"), default=0)
        records = [gpu.get(f"gbsv kl=ku={k}", t, rows, "auto") for t in PRECISIONS]
        if all(records):
            lines.append([f"gbsv, kl = ku = {k}, {power(rows)} rows"] + [short(1e3 * r["solve_ms"], 4) for r in records] + [f"{100 * r['copy_fraction']:.0f} %" for r in records])
    return table(["", "S", "D", "S, of copy", "D, of copy"], lines) if lines else ""


def pentadiagonal(gpu):
    total, lines = 2 ** 20, []
    for what, method in (("gbsv", "auto"), ("gpsvInterleavedBatch", "gpsvInterleavedBatch"), ("ILU(0), the two solves", "csrilu02+SpSV")):
        times = [[gpu.us("tiles kl=ku=2", t, n, method, systems=total // n) for t in PRECISIONS] for n in (8, 64, 512)]
        times.append([gpu.us("gbsv kl=ku=2", t, 2 ** 12, method) for t in PRECISIONS])
        lines.append([what] + [" / ".join(short(t) for t in pair) if any(pair) else "-" for pair in times])
    return table(["", "8", "64", "512", "4096, one"], lines) if "-" not in lines[1] else ""


def fill(paths, groups):
    """path -> text of these documents with their tables filled in."""
    device = next((d for d in unique(device for _, device in groups) if not d.startswith("cpu")), "")
    gpu, cpu = Records(groups, device), Records(groups, "cpu-2t")
    solves, inside = groups.get(("precond", "cpu-2t"), []), groups.get(("petsc", "cpu-2t"), [])
    tables = {"preconditioners": preconditioners(solves), "auto-preconditioner": sentence_of_auto(solves), "claims-of-splittings": claims(solves),
              "preconditioners-on-a-gpu": preconditioners(groups.get(("precond", device), [])), "auto-on-a-gpu": sentence_of_auto(groups.get(("precond", device), [])),
              "beside-cusparse": beside_cusparse(groups.get(("precond", device), [])),
              "which-method": which_method(groups.get(("whole", "cpu-2t"), [])), "beside-cudss": beside_cudss(groups.get(("whole", device), [])),
              "table-17": table_17(solves), "figure-30": figure_30(solves), "figure-34": figure_34(solves), "figure-35": figure_35(solves), "figures-36-to-38": figures_36_to_38(solves),
              "figure-39": figure_39(solves), "figure-40": figure_40(solves), "beside-ilu": sentence_of_figure_40(solves),
              "petsc-speeds": speeds(inside), "petsc-steps": table_of_steps(inside), "petsc-direct": table_of_direct(inside), "petsc-schwarz": table_of_schwarz(inside),
              "petsc-scaling": table_of_scaling([r for r in groups.get(("petsc", "h100x2"), []) if r.get("sweep") == "strong" or r["method"] == "ilu0 on cuda"]), "petsc-prediction": inside and f"{sentence_of_network()}\n\n{table_of_prediction(inside)}",
              "gtsv-sizes": sizes(gpu), "gtsv-passes": passes(gpu), "gtsv-columns": columns(gpu),
              "gtsv-cpu": cpu_sizes(cpu), "gtsv-batches": batches(gpu), "sparse-right-hand-sides": sparse(gpu), "blocks": blocks(gpu),
              "pentadiagonal": pentadiagonal(gpu), "headlines": headlines(groups),
              "errors-without-digits": no_digits(groups, device), "errors-of-determinants": determinants(groups, device), "errors-of-applications": applications(groups, device)}
    texts = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for name in (m[2] for m in MARKED.finditer(text) if m[2] not in tables):
            raise SystemExit(f"report.py: {path} asks for table \"{name}\", which there is not")
        texts[path] = MARKED.sub(lambda m: m[1] + tables[m[2]] + m[3] if tables[m[2]] else m[0], text)
    return texts
