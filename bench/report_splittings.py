"""Table 17 and Figures 30 and 34 to 40 of the thesis (Klein 2024) in form, from records of trine-bench precond. Used by report.py."""
import math

from report_plots import COLOURS, Svg, dot_plot, marker, round_steps, short, table, unique

# Columns of Figures 36 to 38, and the methods in each.
SCHEMES = (("ALT-o", "alt-o:m="), ("ALT-i", "alt-i:m="), ("MOS-d", "mos-d:m="), ("MOS-a", "mos-a:m="), ("ILU-ISAI", "isai:m="), ("diagonal", "diagp"))
GROUPS = ((36, "diagonally dominant", ("MODEL2", "like ATMOSMODL", "MODEL8", "ANISO1", "ANISO2", "G3_CIRCUIT")),
          (37, "not diagonally dominant", ("like GEO_1438", "MODEL4", "like MODEL3", "like MODEL7")),
          (38, "difficult", ("like ECOLOGY2", "like TRANSPORT", "like THERMAL2", "like HOOK_1498", "like AF_SHELL10", "like ML_GEER")))
SETUPS = ["alt-i:m=4", *(f"mos-d:m={m}" for m in (1, 2, 3, 4)), *(f"mos-a:m={m}" for m in (1, 2, 3, 4)), "ilu0", "isai:m=1"]
STEPS = ["tridiag", *(f"mos-a:m={m}" for m in (1, 2, 3, 4)), "mos-d:m=4", "alt-i:m=2", "alt-i:m=4", "ilu0", "isai:m=1", "isai:m=2", "isai:m=3"]
LINES = ["alt-o:m=2", "alt-i:m=2", "mos-d:m=2", "mos-a:m=2", "adi"]
BY_BICGSTAB = ["diagp0", "tridiag", "alg-tri", "alg-tri-block"]
LOWEST = 1e-7  # errors below it are drawn there


def of_sweep(records, sweep):
    return [r for r in records if r["status"] == "ok" and r.get("sweep") == sweep]


def by_matrix(records, sweep):
    """matrix -> method -> record"""
    cells = {}
    for r in of_sweep(records, sweep):
        cells.setdefault(r["matrix"], {})[r["method"]] = r
    return cells


def label(record):
    return record.get("thesis") or record["matrix"]


def thesis_steps(record):
    """Iterations k of the thesis: of ALT-o one is m steps."""
    return record["iterations"] / (record["m"] if record["method"].startswith("alt-o") else 1)


def steps(record):
    return f"{math.ceil(thesis_steps(record))}" if record and record["outcome"] == "converged" else "-"


def points(record, residual=False, scale=1.0):
    """(k times scale, error) of a history."""
    per = thesis_steps(record) / record["iterations"] if record["iterations"] else 1
    split = [point.split(":") for point in record["points"].split()]
    return [(float(p[0]) * per * scale, max(float(p[1 if residual else 2]), LOWEST)) for p in split if p[1 if residual else 2] not in ("nan", "-nan", "inf")]


# ---------------------------------------------------------------------- plots


class Panel:
    """A small plot: x linear from 0 to `most`, y logarithmic."""
    WIDTH, HEIGHT = 136, 92

    def __init__(self, svg, x, y, series, ends):
        """series: name -> [(x, y)] of all plots that share these axes; ends: the names of those that have come to an end, by plot."""
        self.svg, self.x, self.y = svg, x, y
        every = [curve for one in series for curve in one.values() if curve]
        ended = [curve for one, names in zip(series, ends) for name, curve in one.items() if curve and name in names]
        self.most = max((curve[-1][0] for curve in ended or every), default=1) or 1
        values = [value for curve in every for _, value in curve]
        self.high = 2 * max((v for v in values if v < 1e3), default=1)
        self.low = min(values, default=LOWEST) / 2

    def at(self, x, y):
        return self.x + self.WIDTH * x / self.most, self.y + self.HEIGHT * math.log(self.high / min(y, self.high)) / math.log(self.high / self.low)

    def axes(self, right, labelled):
        """Lines of powers of ten as far as `right`, with their labels if wanted."""
        for exponent in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1):
            _, y = self.at(0, 10.0 ** exponent)
            self.svg.line(self.x, y, right, y, "#eeeeee")
            if labelled:
                self.svg.text(self.x - 6, y + 4, f"1e{exponent}" if exponent else "1", "end", 'font-size="10"')
        bottom = self.y + self.HEIGHT
        self.svg.line(self.x, self.y, self.x, bottom, "#888888")
        self.svg.line(self.x, bottom, right, bottom, "#888888")
        steps = round_steps(self.most)
        for tick in steps[:: max(1, len(steps) // 3)]:
            self.svg.text(self.at(tick, 1)[0], bottom + 13, short(tick), extra='font-size="10"')

    def draw(self, series, names, ended):
        for name, curve in series.items():
            colour, k = COLOURS[names.index(name) % len(COLOURS)], names.index(name)
            inside = [self.at(x, y) for x, y in curve if x <= self.most]
            path = " ".join(f"{x:.0f},{y:.0f}" for x, y in inside)
            self.svg.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
            if name in ended and inside:
                self.svg.parts.append(marker(k, *inside[-1], colour))


def names_of(cells):
    return unique(name for series in cells.values() for name in series)


def ended_in(cell, ends):
    return {name for row, column, name in ends if (row, column) == cell}


def panels(title, axis, rows, columns, cells, ends):
    """A grid of small plots: cells[row, column] = {name of a series: [(x, y)]}; the plots of a row share their axes, x as far as the longest of
    those series that have come to an end (ends), which a marker shows."""
    if not cells:
        return None
    step_x, step_y, left, top = Panel.WIDTH + 14, Panel.HEIGHT + 30, 150, 66
    svg = Svg(left + len(columns) * step_x + 20, top + len(rows) * step_y + 30, title)
    names = names_of(cells)
    svg.legend(names, 24, 44)
    for c, column in enumerate(columns):
        svg.text(left + (c + 0.5) * step_x, top - 6, column)
    for i, row in enumerate(rows):
        mine = [cells.get((row, column), {}) for column in columns]
        ended = [ended_in((row, column), ends) for column in columns]
        svg.text(left - 40, top + i * step_y + Panel.HEIGHT / 2, row, "end")
        for c, series in enumerate(mine):
            panel = Panel(svg, left + c * step_x, top + i * step_y, mine, ended)
            panel.axes(left + (c + 1) * step_x, c == 0)
            panel.draw(series, names, ended[c])
    svg.text(left + len(columns) * step_x / 2, top + len(rows) * step_y + 20, axis)
    return svg.finish()


def tiles(title, axis, cells, ends, across=5):
    """Small plots one after another, each with axes of its own and the row of its cell above it."""
    if not cells:
        return None
    step_x, step_y, left, top = Panel.WIDTH + 54, Panel.HEIGHT + 52, 56, 84
    lines = -(-len(cells) // across)
    svg = Svg(left + min(across, len(cells)) * step_x, top + lines * step_y + 20, title)
    names = names_of(cells)
    svg.legend(names, 24, 44)
    for k, (cell, series) in enumerate(cells.items()):
        panel = Panel(svg, left + k % across * step_x, top + k // across * step_y, [series], [ended_in(cell, ends)])
        svg.text(panel.x + Panel.WIDTH / 2, panel.y - 8, cell[0])
        panel.axes(panel.x + Panel.WIDTH + 6, True)
        panel.draw(series, names, ended_in(cell, ends))
    svg.text(left + min(across, len(cells)) * step_x / 2, top + lines * step_y + 8, axis)
    return svg.finish()


def curves(found, methods, column_of, name_of, **how):
    """What panels takes, of these matrices' histories; column_of and name_of a method."""
    cells, ends = {}, set()
    for one in found.values():
        for method in methods:
            if method in one:
                row, column, name = label(one[method]), column_of(method), name_of(method)
                scale = how["scale"](one[method]) if "scale" in how else 1.0
                if scale:
                    cells.setdefault((row, column), {})[name] = points(one[method], how.get("residual", False), scale)
                if one[method]["outcome"] == "converged":
                    ends.add((row, column, name))
    return cells, ends


# -------------------------------------------------------------------- figures


def table_17(records):
    rows = [[label(r), f"`{r['matrix']}`", r["n"], r["nnz"], f"{r['nnz'] / r['n']:.2f}", short(r["longest_row"], 4), f"{r['c_diag']:.3f}", f"{r['c_diag_printed']:.2f}" if "c_diag_printed" in r else "-"]
            for r in of_sweep(records, "table17")]
    return table(["thesis", "matrix", "rows", "entries", "in a row", "most", "c_diag", "printed"], rows) if rows else ""


def figure_30(records):
    rows = [[label(next(iter(one.values()))), f"`{matrix}`"] + [steps(one.get(f"bicgstab/{m}")) for m in BY_BICGSTAB]
            for matrix, one in by_matrix(records, "histories").items() if f"bicgstab/{BY_BICGSTAB[0]}" in one]
    return table(["thesis", "matrix", "Jacobi", "tridiagonal as given", "AlgTriScal", "AlgTriBlock"], rows) if rows else ""


def timed(records):
    cells = {}
    for r in records:
        if r["status"] == "ok" and not r.get("sweep") and r["impl"] == "trine" and r.get("setup_ms") is not None:
            cells.setdefault(r["matrix"], {})[r["method"]] = r
    return {matrix: one for matrix, one in cells.items() if "mos-a:m=1" in one}


def figure_34(records):
    rows = [[f"`{matrix}`"] + [short(one[m]["setup_ms"]) if m in one else "-" for m in SETUPS] for matrix, one in timed(records).items()]
    return table(["matrix", *SETUPS], rows) if rows else ""


def relative_step(one, method):
    has = method in one and one[method].get("step_ms") and one.get("diagp0", {}).get("step_ms")
    return one[method]["step_ms"] / one["diagp0"]["step_ms"] if has else None


def figure_35(records):
    rows = [[f"`{matrix}`"] + [short(relative_step(one, m)) for m in STEPS] for matrix, one in timed(records).items() if "diagp0" in one]
    return table(["matrix", *STEPS], rows) if rows else ""


def figures_36_to_38(records):
    """Iterations k of every scheme and m."""
    methods = [f"{scheme}{m}" for _, scheme in SCHEMES[:4] for m in (1, 2, 3, 4)] + [f"isai:m={m}" for m in (1, 2, 3)] + ["diagp0", "diagp1", "diagp2"]
    found = {label(next(iter(one.values()))): one for one in by_matrix(records, "histories").values()}
    rows = []
    for figure, _, names in GROUPS:
        for name in names:
            if name in found:
                row = [str(figure), name]
                for _, scheme in SCHEMES:
                    row.append(", ".join(steps(found[name].get(m)) for m in methods if m.startswith(scheme)))
                rows.append(row)
    return table(["figure", "thesis", "ALT-o, m = 1 to 4", "ALT-i", "MOS-d", "MOS-a", "ILU-ISAI, m = 1 to 3", "diagp 0, 1, 2"], rows) if rows else ""


def figure_39(records):
    rows = [[label(one["adi"]), f"`{matrix}`"] + [steps(one.get(m)) for m in LINES] for matrix, one in by_matrix(records, "histories").items() if "adi" in one]
    return table(["thesis", "matrix", "ALT-o(2)", "ALT-i(2)", "MOS-d(2)", "MOS-a(2)", "geometric ADI"], rows) if rows else ""


def of_scheme(one, scheme):
    """The one with as many factors as cover 0.99."""
    m = next((r["m"] for method, r in one.items() if method.startswith("mos-d")), None)
    return next((r for method, r in one.items() if method.startswith(scheme) and (r["m"] == m or method == "ilu0")), None)


def covered(records):
    """matrix -> its records of figure40, if all are there."""
    found = by_matrix(records, "figure40")
    return {matrix: one for matrix, one in found.items() if of_scheme(one, "mos-d") and "ilu0" in one}


def figure_40(records):
    rows = []
    for matrix, one in covered(records).items():
        any_of = next(iter(one.values()))
        m = of_scheme(one, "mos-d")["m"]
        rows.append([label(any_of), f"`{matrix}`", f"{m:.0f}", f"{any_of['coverage']:.4f}"] + [steps(of_scheme(one, s)) for s in ("alt-o", "alt-i", "mos-d", "mos-a", "ilu0")])
    return table(["thesis", "matrix", "m", "coverage", "ALT-o", "ALT-i", "MOS-d", "MOS-a", "ILU(0)"], rows) if rows else ""


def sentence_of_figure_40(records):
    def fewer(one, scheme):
        mine, peer = of_scheme(one, scheme), one.get("ilu0")
        if not mine or mine["outcome"] != "converged":
            return False
        return not peer or peer["outcome"] != "converged" or thesis_steps(mine) < peer["iterations"]

    found = list(covered(records).values())
    both = sum(fewer(one, "alt-i") and fewer(one, "mos-a") for one in found)
    either = sum(fewer(one, "alt-i") or fewer(one, "mos-a") for one in found)
    return f"Both ALT-i and MOS-a take fewer iterations than ILU(0) on {both} of {len(found)} matrices, one of them on {either}; the thesis has 8 of 17." if found else ""


def splittings_section(records, name, save):
    text = ""
    main, histories, full = timed(records), by_matrix(records, "histories"), covered(records)
    if of_sweep(records, "table17"):
        text += "## Matrices (Table 17)\n\n" + table_17(records) + "\n"
    if figure_30(records):
        text += "## BiCGStab (Figure 30)\n\n" + figure_30(records) + "\n"
        methods = [f"bicgstab/{m}" for m in BY_BICGSTAB]
        some = {matrix: one for matrix, one in histories.items() if methods[0] in one}
        cells, ends = {}, set()
        for residual, column in ((True, "residual"), (False, "error")):
            more = curves(some, methods, lambda _, c=column: c, lambda m: m.split("/")[1], residual=residual)
            cells.update(more[0])
            ends |= more[1]
        rows = [label(next(iter(one.values()))) for one in some.values()]
        text += save(f"{name}-figure30", panels("BiCGStab: residual and error (Figure 30)", "steps", rows, ["residual", "error"], cells, ends))
    if main:
        series = {m: {matrix: one[m]["setup_ms"] for matrix, one in main.items() if m in one and one[m]["setup_ms"]} for m in SETUPS}
        text += "## Set-up (Figure 34)\n\nMilliseconds.\n\n" + figure_34(records) + "\n"
        text += save(f"{name}-figure34", dot_plot("Set-up (Figure 34)", "milliseconds", list(main), {m: series[m] for m in ("mos-d:m=1", "mos-d:m=4", "mos-a:m=1", "mos-a:m=4", "ilu0")}))
    if figure_35(records):
        text += "## Time of a step (Figure 35)\n\nA step of GMRES(20) over one with diagp0, in double precision.\n\n" + figure_35(records) + "\n"
        shown = ("tridiag", "mos-a:m=1", "mos-a:m=2", "mos-a:m=4", "alt-i:m=2", "isai:m=1")
        text += save(f"{name}-figure35", dot_plot("A step of GMRES(20) (Figure 35)", "over a step with diagp0", list(main), {m: {x: relative_step(one, m) for x, one in main.items()} for m in shown}))
    if figures_36_to_38(records):
        text += "## Convergence (Figures 36 to 38)\n\nIterations k; of ALT-o m steps each. Forward errors against k, and against time for each entry of A.\n\n" + figures_36_to_38(records) + "\n"
    methods = [m for m in unique(m for one in histories.values() for m in one) if "/" not in m and m != "adi"]

    def column_of(method):
        return next(title for title, beginning in SCHEMES if method.startswith(beginning))

    def name_of(method):
        return method.split("=")[-1] if "=" in method else str(int(method[-1]) + 1)

    def nanoseconds(record):
        step = main.get(record["matrix"], {}).get(record["method"], {}).get("step_ms")
        per_k = record["m"] if record["method"].startswith("alt-o") else 1
        return step and 1e6 * step * per_k / record["nnz"]

    for figure, kind, names in GROUPS:
        some = {matrix: one for matrix, one in histories.items() if label(next(iter(one.values()))) in names}
        rows = [n for n in names if any(label(next(iter(one.values()))) == n for one in some.values())]
        for what, axis, how in (("", "iterations k", {}), ("-time", "nanoseconds for each entry of A", {"scale": nanoseconds})):
            cells, ends = curves(some, methods, column_of, name_of, **how)
            title = f"Forward error, {kind} (Figure {figure}); curves: m, of diagonals diagp 0 to 2"
            text += save(f"{name}-figure{figure}{what}", panels(title, axis, rows, [s for s, _ in SCHEMES], cells, ends))
    if figure_39(records):
        text += "## Lines of a grid (Figure 39)\n\n" + figure_39(records) + "\n"
        some = {matrix: one for matrix, one in histories.items() if "adi" in one}
        cells, ends = curves(some, LINES, lambda _: "m = 2", lambda m: m.split(":")[0])
        text += save(f"{name}-figure39", tiles("Forward error, m = 2 beside geometric ADI (Figure 39)", "iterations k", cells, ends))
    if full:
        text += ("## As many factors as cover 0.99 (Figure 40)\n\nm is the least with a coverage of 0.99, at most 32.\n\n" + figure_40(records) + f"\n{sentence_of_figure_40(records)}\n\n")
        full = {matrix: {s: of_scheme(one, s) for s in ("alt-o", "alt-i", "mos-d", "mos-a", "ilu0") if of_scheme(one, s)} for matrix, one in full.items()}
        methods = unique(m for one in full.values() for m in one)
        cells, ends = curves(full, methods, lambda _: "m for a coverage of 0.99", lambda m: m.split(":")[0])
        text += save(f"{name}-figure40", tiles("Forward error beside ILU(0), coverage 0.99 (Figure 40)", "iterations k", cells, ends))
    return text
