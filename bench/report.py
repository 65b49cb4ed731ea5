#!/usr/bin/env python3
"""Tables and plots from bench/results/*.jsonl.

    bench/report.py                  what git tracks: docs/benchmarks.md, README's plots, the marked tables of documents
    bench/report.py --check          is that what the records say? Writes nothing
    bench/report.py --site FOLDER    FOLDER/benchmarks.md with a page a suite and device and all plots in FOLDER/benchmarks

`--results` names another folder of records, `--docs` another one of documents. Of several records of one measurement (same suite,
device, problem, solver and method) the last in its file counts. Nothing in the pages is typed by hand; numbers that are not in
the records are not in the pages. Python standard library only.
"""
import argparse
import json
import pathlib
import re

from report_direct import direct_section, figure_17
from report_documents import fill
from report_forest import forest_section
from report_paper import paper_section
from report_petsc import petsc_section
from report_plots import DTYPES, generic_table, ok, short, solver, unique
from report_precond import precond_section
from report_spmv import spmv_section
from report_summary import headline_plot, summary
from report_supernodal import supernodal_section
from report_triangular import triangular_section
from report_tridiagonal import numerics_section, tridiag_section
from report_whole import whole_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = "Times are medians in milliseconds, with whatever a method resets or fills inside."
TRIANGULAR = f"""{TIMES} Every result was
checked in long double; the error is the largest componentwise backward error |b - Tx| / (|T||x| + |b|). `% of copy` is
the least traffic of a solve (12 bytes a nonzero in double, and the vectors) at the copy bandwidth of the same run, over its time."""
# What the numbers of a page are, by suite.
ABOUT = {
    "direct": f"{TIMES} The error is the normwise backward error of A x = b.",
    "whole": "Solve times are medians, times of set-up and of new values the least of up to five calls, in milliseconds. Every solution has a normwise backward error below 1e-10.",
    "sptrsv": TRIANGULAR,
    "sptrsm": TRIANGULAR,
    "spmv": """A sample is up to 300 products in a row, fewer where they take longer than 25 ms; times are medians of samples, for one product. Every result was
checked in long double; the error is the largest |y - y_exact| / (|alpha| |A||x| + |beta| |y|). `% of copy` is the least traffic (each value and its
4-byte column, 4-byte offsets, x and y once, y twice where it is read) at the copy bandwidth of the same run, over the time.""",
    "supernodal": TRIANGULAR,
    "precond": "A x = b by GMRES(20), preconditioned on the right, or CG, from zero until |b - A x| <= 1e-6 |b|, with x_i = sin(16 pi i / N); the residual of every x was computed again.",
    "forest": f"{TIMES} Paths are compared with those of a walk by one thread, number by number.",
    "tridiag": f"{TIMES} The error is the largest componentwise backward error |d - Ax| / (|A||x| + |d|).",
    "tridiag-numerics": "",  # said there
    "petsc": "Times are the least of the repetitions in milliseconds, each that of the slowest rank: two ranks wait for each other, so that a median tells of other programs. The residual of every x was computed again.",
}


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
            key = tuple(record.get(name) for name in ("matrix", "dtype", "op", "uplo", "direction", "nrhs", "impl", "method", "layout", "sweep", "systems", "programs", "beta", "ranks"))
            groups.setdefault((record["suite"], record["device"]), {})[key] = record
    return {group: list(records.values()) for group, records in groups.items()}


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


SECTIONS = {
    "spmv": ("Products with vectors", spmv_section),
    "direct": ("Direct solves, both triangles", direct_section),
    "whole": ("Direct solves from the matrix on", whole_section),
    "forest": ("Linear forests", forest_section),
    "precond": ("Preconditioned iterations", precond_section),
    "petsc": ("Sub-solvers inside PETSc", petsc_section),
    "sptrsv": ("Triangular solves, one right-hand side", triangular_section),
    "tridiag": ("Tridiagonal and banded solves", tridiag_section),
    "tridiag-numerics": ("Errors of tridiagonal, block tridiagonal and banded solves", numerics_section),
    "supernodal": ("Supernodal triangular solves", supernodal_section),
    "sptrsm": ("Triangular solves, many right-hand sides", triangular_section),
}


def section(suite, device, records, save):
    title, make = SECTIONS.get(suite, (suite, None))
    full = unique(r["device_full"] for r in records)
    copies = [r["copy_gbs"] for r in records if r["copy_gbs"]]
    dates = sorted(r["date"][:10] for r in records)
    text = f"# {title}: {device}\n\n{', '.join(full)}; {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else "")
    text += f"; sources at {', '.join(unique(r['commit'] for r in records))}"
    text += f"; copy bandwidth {short(min(copies))} to {short(max(copies), 4)} GB/s" if copies else ""
    reps = [r["reps"] for r in ok(records)]
    text += f"; medians of {min(reps)} or more calls.\n\n" if reps else ".\n\n"
    text += make(records, f"{suite}-{device}", save) if make else generic_table(records)
    return text + trouble(records)


def make_pages(groups):
    """The pages (name -> Markdown) and the plots (stem -> SVG)."""
    plots = {}

    def save(stem, svg):
        if svg is None:
            return ""
        plots[stem] = svg
        return f"![{stem}]({stem}.svg)\n\n"

    pages = {}  # name -> what its numbers are, its text
    for (suite, device), records in groups.items():
        plain = records if suite in ("supernodal", "spmv", "forest", "precond", "petsc") else [r for r in records if not r.get("sweep")]
        if plain:
            pages[f"{suite}-{device}"] = ABOUT.get(suite, TIMES), section(suite, device, plain, save)
    save("headlines", headline_plot(groups))
    pages["figure17-yamazaki2020"] = TIMES, figure_17(groups, save)
    for device in unique(device for _, device in groups):
        sweeps = [r for (suite, d), records in groups.items() if d == device and suite in ("sptrsv", "sptrsm") for r in records if r.get("sweep")]
        pages[f"liu2017-{device}"] = TRIANGULAR, paper_section(device, sweeps, save)

    def page(about, text):
        title, body = text.split("\n", 1)
        return f"{title}\n\n" + f"[All benchmarks](../benchmarks.md). {about}".rstrip() + f"\n{body.rstrip()}\n"

    return {name: page(about, text) for name, (about, text) in pages.items() if text}, plots


def tracked_files(docs, groups, pages, plots):
    """path -> text of all that git tracks: the summary, plots of README and documents, documents with their tables filled in."""
    readme = docs.parent / "README.md"
    documents = [path for path in sorted(docs.rglob("*.md")) if docs / "notes" not in path.parents] + ([readme] if readme.exists() else [])
    files = fill(documents, groups)
    shown = re.findall(r"\]\(docs/benchmarks/([\w-]+)\.svg\)", files[readme]) if readme in files else []
    shown = [stem for stem in shown if stem in plots]
    of_documents = [stem for path in documents for stem in re.findall(r"\]\(\.\./benchmarks/([\w-]+)\.svg\)", files[path]) if stem in plots]
    files.update({docs / "benchmarks" / f"{stem}.svg": plots[stem] for stem in shown + of_documents})
    files[docs / "benchmarks.md"] = summary(groups, pages, shown, False)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results")
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--site", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    groups = load(arguments.results)
    if not groups:
        raise SystemExit(f"report.py: no records in {arguments.results}")
    pages, plots = make_pages(groups)
    if arguments.site:
        files = {arguments.site / "benchmarks" / f"{stem}.svg": svg for stem, svg in plots.items()}
        files.update({arguments.site / "benchmarks" / f"{name}.md": text for name, text in pages.items()})
        files[arguments.site / "benchmarks.md"] = summary(groups, pages, plots, True)
    else:
        files = tracked_files(arguments.docs, groups, pages, plots)
    old = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if arguments.check:
        if old:
            raise SystemExit("report.py: not what the records say: " + ", ".join(str(path) for path in old) + "; run bench/report.py")
        return
    for path in old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    print(f"{arguments.site or arguments.docs}: {sum(map(len, groups.values()))} records, {len(pages)} pages, {len(plots)} plots; {len(old)} files written")


if __name__ == "__main__":
    main()
