"""What the parts of the report share: numbers as text, Markdown tables, SVG plots."""
import math
from html import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#555555"]  # Okabe and Ito


DTYPES = {"s": "single", "d": "double", "c": "single complex", "z": "double complex"}


def ok(records):
    return [r for r in records if r["status"] == "ok" and r["solve_ms"]]


def unique(values):
    return list(dict.fromkeys(values))


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def short(value, digits=3):
    """Digits that matter: 12.5, 0.00123, 1.2e-05; - for none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** digits:
        return f"{value:.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def table(head, rows, words=1):
    """Markdown; the first columns, so many as hold words, left, the others right."""
    lines = ["| " + " | ".join(head) + " |", "|---" * words + "|--:" * (len(head) - words) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def solver(record):
    return record["method"] if record["impl"] == "trine" else f"{record['impl']} {record['method']}"


def is_by_columns(record):
    """Of several right-hand sides, which are stored by rows else."""
    return record["nrhs"] > 1 and record.get("layout") == "colmajor"


def fewest_calls(records, enough=50):
    """A line below a table of medians: the least number of calls of every solver that has fewer than `enough`."""
    least = {name: min(r["reps"] for r in ok(records) if solver(r) == name) for name in unique(solver(r) for r in ok(records))}
    few = [f"{name} {reps}" for name, reps in least.items() if reps < enough]
    return f"Fewest calls of a median, where below {enough}: {', '.join(few)}.\n\n" if few else ""


def generic_table(records):
    rows = [[f"`{r['matrix']}`", r["n"] or "-", DTYPES.get(r["dtype"], "-"), solver(r), r["chosen"] or "-", short(r["analyse_ms"]), short(r["numeric_ms"]),
             short(r["solve_ms"]), short(r["error"])] for r in ok(records)]
    return table(["problem", "n", "precision", "solver", "chosen", "analyse ms", "numeric ms", "solve ms", "error"], rows) + "\n"


# ---------------------------------------------------------------------- plots


def ticks(low, high):
    """Powers of ten in [low, high]; with 2 and 5 between them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [1] if last - first > 4 else [1, 3] if last - first > 2 else [1, 2, 5]
    return [s * 10.0 ** e for e in range(first, last + 1) for s in steps if low <= s * 10.0 ** e <= high * 1.0001]


def round_steps(high):
    """Ticks of a linear axis from zero."""
    step = next(s * 10.0 ** e for e in range(-12, 13) for s in (1, 2, 5) if high / (s * 10.0 ** e) <= 8)
    return [i * step for i in range(int(high / step) + 1)]


def marker(kind, x, y, colour):
    """One of a few shapes, so that a plot reads without colours too."""
    style = f'fill="{colour}" fill-opacity="0.85"'
    if kind % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {style}/>'
    if kind % 4 == 1:
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" {style}/>'
    if kind % 4 == 2:
        return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" {style}/>'
    return f'<path d="M{x:.1f} {y - 5.5:.1f}l6 10.5h-12z" {style}/>'


class Svg:
    def __init__(self, width, height, title):
        self.size = width, height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                      f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
                      f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
                      f'<text x="16" y="22" font-size="14" font-weight="bold">{escape(title)}</text>']

    def line(self, x1, y1, x2, y2, colour="#dddddd"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')

    def text(self, x, y, words, anchor="middle", extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>')

    def legend(self, names, x, y):
        """In one line, or where that is too long in two of half the distance."""
        widths = [26 + 7 * len(name) for name in names]
        wraps, left, below = x + sum(widths) > self.size[0], x, False
        y -= 6 if wraps else 0
        for i, (name, width) in enumerate(zip(names, widths)):
            if wraps and not below and x + width > self.size[0]:
                x, y, below = left, y + 16, True
            self.parts.append(marker(i, x, y - 4, COLOURS[i % len(COLOURS)]))
            self.text(x + 10, y, name, "start")
            x += width

    def finish(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def strip_plot(title, axis, below, above, sections, note):
    """sections: [(heading, [(row, values)])]. A row a line, a dot a value on a logarithmic x axis, a bar at their geometric mean; `below` and `above`
    name the two sides of 1."""
    values = [v for _, rows in sections for _, found in rows for v in found]
    left, right, top, step = 30 + 6.2 * max(len(row) for _, rows in sections for row, _ in rows), 60, 62, 26
    lines = sum(1 + len(rows) for _, rows in sections)
    width, height = int(left + 620), top + step * lines + 74
    low, high = 0.8 * min(*values, 1), 1.25 * max(*values, 1)
    svg = Svg(width, height, title)

    def x_of(value):
        return left + (width - left - right) * math.log(value / low) / math.log(high / low)

    bottom = top + step * lines
    svg.parts.append(f'<rect x="{left:.1f}" y="{top}" width="{x_of(1) - left:.1f}" height="{bottom - top}" fill="{COLOURS[1]}" fill-opacity="0.08"/>')
    for tick in ticks(low, high):
        svg.line(x_of(tick), top, x_of(tick), bottom)
        svg.text(x_of(tick), bottom + 18, short(tick))
    svg.line(x_of(1), top, x_of(1), bottom, "#222222")
    svg.text(x_of(1) - 8, top - 8, below, "end")
    svg.text(x_of(1) + 8, top - 8, above, "start")
    y = top - 0.5 * step
    for heading, rows in sections:
        y += step
        svg.text(left - 10, y + 4, heading, "end", 'font-weight="bold"')
        for row, found in rows:
            y += step
            mean = geometric_mean(found)
            svg.text(left - 10, y + 4, row, "end")
            svg.line(left, y, width - right, y, "#eeeeee")
            colour = COLOURS[0 if mean >= 1 else 1]
            svg.parts += [f'<circle cx="{x_of(v):.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.3"/>' for v in sorted(found)]
            svg.parts.append(f'<rect x="{x_of(mean) - 2:.1f}" y="{y - 9:.1f}" width="4" height="18" fill="{colour}"/>')
            svg.text(width - right + 10, y + 4, short(mean), "start", 'font-weight="bold"')
    svg.line(left, bottom, width - right, bottom, "#222222")
    svg.text((left + width - right) / 2, bottom + 40, axis)
    svg.text(16, bottom + 62, note, "start")
    return svg.finish()


def dot_plot(title, axis, rows, series, from_zero=False):
    """rows: names; series: name -> {row: value}. A row a line, the value on a logarithmic x axis, or with from_zero a linear one, a marker a
    series."""
    values = [v for points in series.values() for v in points.values() if v and v > 0]
    if not values:
        return None
    left, right, top, step = 30 + 6.6 * max(len(row) for row in rows), 30, 62, 26
    width, height = int(left + 620), top + step * len(rows) + 56
    low, high = (0, 1.05 * max(values)) if from_zero else (0.8 * min(values), 1.25 * max(values))
    svg = Svg(width, height, title)

    def x_of(value):
        return left + (width - left - right) * (value / high if from_zero else math.log(value / low) / math.log(high / low))

    bottom = top + step * len(rows)
    for tick in round_steps(high) if from_zero else ticks(low, high):
        svg.line(x_of(tick), top, x_of(tick), bottom)
        svg.text(x_of(tick), bottom + 18, short(tick))
    for i, row in enumerate(rows):
        y = top + step * (i + 0.5)
        svg.line(left, y, width - right, y, "#eeeeee")
        svg.text(left - 10, y + 4, row, "end")
        for k, points in enumerate(series.values()):
            if points.get(row):
                svg.parts.append(marker(k, x_of(points[row]), y, COLOURS[k % len(COLOURS)]))
    svg.line(left, bottom, width - right, bottom, "#222222")
    svg.text((left + width - right) / 2, bottom + 42, axis)
    svg.legend(list(series), 24, 46)
    return svg.finish()


def powers_of_two(low, high):
    """Ticks of an axis that counts rows or right-hand sides: at most ten."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = -(-(last - first + 1) // 10)
    return [(2.0 ** e, str(2 ** e) if e < 8 else f"2^{e}") for e in range(first, last + 1) if e % step == 0]


def scatter_plot(title, x_axis, y_axis, series, lines=False, x_ticks=None, from_zero=False):
    """series: name -> [(x, y)], both axes logarithmic, or with from_zero that of y linear; lines: neighbours of a series joined. x_ticks:
    (low, high) -> [(x, label)], powers of ten if not given."""
    points = [(x, y) for values in series.values() for x, y in values if x and y and x > 0 and y > 0]
    if not points:
        return None
    width, height, left, right, top, bottom = 760, 480, 80, 30, 62, 420
    low_x, high_x = 0.7 * min(x for x, _ in points), 1.4 * max(x for x, _ in points)
    low_y, high_y = (0, 1.05 * max(y for _, y in points)) if from_zero else (0.7 * min(y for _, y in points), 1.4 * max(y for _, y in points))
    svg = Svg(width, height, title)

    def x_of(value):
        return left + (width - left - right) * math.log(value / low_x) / math.log(high_x / low_x)

    def y_of(value):
        return bottom - (bottom - top) * (value / high_y if from_zero else math.log(value / low_y) / math.log(high_y / low_y))

    for tick, label in x_ticks(low_x, high_x) if x_ticks else [(tick, short(tick)) for tick in ticks(low_x, high_x)]:
        svg.line(x_of(tick), top, x_of(tick), bottom)
        svg.text(x_of(tick), bottom + 18, label)
    for tick in round_steps(high_y) if from_zero else ticks(low_y, high_y):
        svg.line(left, y_of(tick), width - right, y_of(tick))
        svg.text(left - 8, y_of(tick) + 4, short(tick), "end")
    for k, values in enumerate(series.values()):
        if lines:
            path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in values if x > 0 and y > 0)
            svg.parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[k % len(COLOURS)]}"/>')
        for x, y in values:
            if x and y and x > 0 and y > 0:
                svg.parts.append(marker(k, x_of(x), y_of(y), COLOURS[k % len(COLOURS)]))
    svg.line(left, bottom, width - right, bottom, "#222222")
    svg.line(left, top, left, bottom, "#222222")
    svg.text((left + width - right) / 2, bottom + 42, x_axis)
    svg.text(22, (top + bottom) / 2, y_axis, extra=f'transform="rotate(-90 22 {(top + bottom) / 2:.0f})"')
    svg.legend(list(series), 24, 46)
    return svg.finish()
