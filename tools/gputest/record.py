"""The record of the GPU tests: a file with an entry for every program and way to run it (a shape of device, or a tool of
compute-sanitizer), and whether it is good for the sources.

    {"format": 2, "device": ..., "cuda": ...,                 of all entries
     "programs": {"core.cuda": {"9.0": entry, ..., "memcheck": entry}},
     "sources": {hash: {file: hash}}}                         those that entries were made of

An entry has the hash of what the program depends on (sources.py) and of the environment that it ran in, `sources` (which of those above),
date, driver, the seconds that it took beside others (the longest, and the number of parts, if it ran in parts), whether kernels of
several programs ran at a time, and the outcome (programs.py).
Python standard library only.
"""
import json
import os

from gputest.programs import MEMCHECKED, SHAPES, is_clean, setting

# One more with every change of this file's format, or of how programs run and outcomes are counted, after which older entries say
# something else: the tool itself is not among the sources that count.
FORMAT = 2


def load(path):
    """The record; None: there is none; one of another format: just that number."""
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    return record if record.get("format") == FORMAT else {"format": record.get("format")}


def is_readable(record):
    return bool(record) and record["format"] == FORMAT


def save(record, path):
    """In one step, so that there is always a whole one; an entry a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(_lines(record, 0) + "\n", encoding="utf-8")
    os.replace(part, path)


def _lines(value, depth):
    if depth == 3 or not isinstance(value, dict) or not value:
        return json.dumps(value)
    blank = " " * (depth + 1)
    return "{\n" + ",\n".join(f"{blank}{json.dumps(key)}: {_lines(entry, depth + 1)}" for key, entry in value.items()) + "\n" + " " * depth + "}"


class OtherDevice(Exception):
    """Entries of two devices or of two versions of CUDA do not go into one record."""


def begin(old, device, cuda, add):
    """The record to put entries into: the old one, or a new one where that is of another format, or of another device or CUDA. The latter
    cannot be added to."""
    if is_readable(old):
        if (old["device"], old["cuda"]) == (device, cuda):
            return old
        if add:
            raise OtherDevice(f"the record is of {old['device']} with CUDA {old['cuda']}, this is {device} with CUDA {cuda}: without --add a new one begins")
    return {"format": FORMAT, "device": device, "cuda": cuda, "programs": {}, "sources": {}}


def put(record, sources, name, way, entry):
    """Put in an entry, made of these sources; drop programs that are gone, and sources of which no entry is left."""
    entry = {"hash": sources.hash_of(name, setting(way)), "sources": sources.whole(), **entry}
    programs = {**record["programs"], name: {**record["programs"].get(name, {}), way: entry}}
    record["programs"] = {program: ways for program, ways in sorted(programs.items()) if program in sources.programs}
    record["sources"][sources.whole()] = sources.digests
    used = {entry["sources"] for ways in record["programs"].values() for entry in ways.values()}
    record["sources"] = {whole: files for whole, files in record["sources"].items() if whole in used}


def seconds(record, name, way):
    """How long a program took before, all its parts together, in another way if not in this one; None: unknown."""
    ways = record["programs"].get(name, {}) if is_readable(record) else {}
    known = [ways[way]] if way in ways else [entry for other, entry in ways.items() if other in SHAPES and way in SHAPES]
    return max((entry["seconds"] * entry.get("parts", 1) for entry in known), default=None)


# ----------------------------------------------------------------------- judging

STATES = ("failed", "not run", "compiled for another device", "stale")


def wanted(sources):
    """Pairs of program and way that a record has."""
    return [(name, way) for way in SHAPES for name in sources.programs] + [(name, "memcheck") for name in MEMCHECKED if name in sources.programs]


def state(record, sources, name, way):
    """What is wrong with the entry, one of STATES; "" if nothing is."""
    entry = record["programs"].get(name, {}).get(way) if is_readable(record) else None
    if not entry:
        return "not run"
    if entry["hash"] != sources.hash_of(name, setting(way)):
        return "stale"
    if SHAPES.get(way, (None, None))[1] not in (None, entry.get("compiled_for")):
        return "compiled for another device"
    return "" if is_clean(entry) else "failed"


def changed_files(record, sources, pairs):
    """Files that the programs of these entries depend on and that are others than when they ran."""
    changed = set()
    for name, way in pairs:
        entry = record["programs"][name][way]
        old, new = record["sources"][entry["sources"]], sources.digests_of(name)
        changed |= {path for path, digest in new.items() if old.get(path) != digest}
        changed |= {path for path in old.keys() - sources.digests.keys() if not path.startswith("tests/")}  # may have been the program's
    return sorted(changed)


def _several(names, most=6):
    names = [name.removesuffix(".cuda") for name in names]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _by_ways(pairs, programs):
    """Pairs of program and way in words, programs of the same ways together, shapes before tools."""
    ways_of, groups = {}, {}
    for name, way in sorted(pairs, key=lambda pair: pair[1] not in SHAPES):
        ways_of.setdefault((name, way in SHAPES), []).append(way)
    for (name, _), ways in ways_of.items():
        groups.setdefault(tuple(ways), []).append(name)
    return "; ".join(f"{'all programs' if len(names) == len(programs) else _several(names)} ({', '.join(ways)})" for ways, names in groups.items())


def judge(record, sources):
    """Is the record good for the sources? Yes or no, and a sentence."""
    if record is None:
        return False, "there is no record"
    if not is_readable(record):
        return False, "stale, of an older format"
    pairs = wanted(sources)
    more = [(name, way) for name in sources.programs for way in record["programs"].get(name, {}) if (name, way) not in pairs]
    states = {pair: state(record, sources, *pair) for pair in pairs + more}
    states = {pair: kind for pair, kind in states.items() if pair in pairs or kind in ("", "failed")}  # what need not be there may be stale
    entries = {pair: record["programs"][pair[0]][pair[1]] for pair, kind in states.items() if kind in ("", "failed")}
    shaped = [entry for (_, way), entry in entries.items() if way in SHAPES]
    dates = sorted(entry["date"][:10] for entry in entries.values())
    missing = sorted({matrix for entry in shaped for matrix in entry["missing"]})
    summary = (f"{record['device']}, CUDA {record['cuda']}{', ' + ' to '.join(sorted({dates[0], dates[-1]})) if dates else ''}: "
               f"{sum(entry['passed'] for entry in shaped)} cases passed, {sum(len(entry['failed']) for entry in shaped)} failed, "
               f"{sum(len(entry['skipped']) for entry in shaped)} skipped" + (f", some for want of {_several(missing, len(missing))}" if missing else ""))
    found = {kind: [pair for pair, of in states.items() if of == kind] for kind in STATES}
    if not any(found.values()):
        checked = {way: sum(way == other for _, other in entries) for _, way in entries if way not in SHAPES}
        return True, f"current as {', '.join(SHAPES)} ({summary}; {', '.join(f'{way} of {count} programs' for way, count in checked.items())} clean)"
    words = [f"{kind}: {_by_ways(found[kind], sources.programs)}" for kind in found if found[kind]]
    changed = changed_files(record, sources, found["stale"])
    return False, "; ".join(words + ([f"changed: {_several(changed)}"] if changed else [])) + f" ({summary})"
