"""Tests of trine-bench and bench/report.py: usage test_bench.py TRINE_BENCH. Numbers here are made up or of tiny problems."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "trine-bench"
SCHEMA = json.loads((ROOT / "bench/schema.json").read_text(encoding="utf-8"))


def bench(*words):
    """Exit code, table, records."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "records.jsonl"
        done = subprocess.run([PROGRAM, *words, "--device", "cpu:2", "--copy", "1", "--json", str(path)], capture_output=True, text=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return done.returncode, done.stdout + done.stderr, [json.loads(line) for line in lines]


class Runner(unittest.TestCase):
    def check_keys(self, record):
        required, added = SCHEMA["every suite"], SCHEMA["sptrsv, sptrsm"]
        self.assertEqual(set(required) - set(record), set(), "missing")
        self.assertEqual(set(record) - set(required) - set(added), set(), "not in bench/schema.json")
        types = {"string": str, "integer": int, "number": (int, float)}
        for key, value in record.items():
            self.assertTrue(value is None or isinstance(value, types[{**required, **added}[key][0]]), key)

    def test_every_precision_and_direction_is_solved_and_recorded(self):
        code, table, records = bench("sptrsv", "tri:convection3d:n=4", "--dtype", "s,d,c,z", "--reps", "2")
        self.assertEqual(code, 0, table)
        for record in records:
            self.check_keys(record)
            self.assertIn(record["status"], ("ok", "skipped"), record["reason"])
        auto = [r for r in records if r["method"] == "auto"]
        self.assertEqual({(r["dtype"], r["direction"], r["status"]) for r in auto},
                         {(t, d, "ok") for t in "sdcz" for d in ("forward", "backward")})
        self.assertTrue(all(r["solve_min_ms"] <= r["solve_ms"] and r["reps"] == 2 and r["levels"] == 10 for r in auto))

    def test_several_right_hand_sides_in_both_layouts_of_either_triangle(self):
        for layout in ("rowmajor", "colmajor"):
            for uplo in ("lower", "upper"):
                code, table, records = bench("sptrsm", "laplace2d:n=5", "--nrhs", "1,3", "--reps", "2", "--layout", layout, "--uplo", uplo,
                                             "--peers", "none", "--methods", "serial")
                self.assertEqual(code, 0, table)
                self.assertEqual([(r["direction"], r["op"], r["nrhs"]) for r in records],
                                 [(d, "N" if (d == "forward") == (uplo == "lower") else "T", k) for d in ("forward", "backward") for k in (1, 3)])

    def test_both_layouts_are_recorded_in_one_run(self):
        code, table, records = bench("sptrsm", "laplace2d:n=5", "--nrhs", "1,3", "--reps", "2", "--layout", "rowmajor,colmajor", "--peers", "none", "--methods", "auto")
        self.assertEqual(code, 0, table)
        for record in records:
            self.check_keys(record)
        self.assertEqual([(r["direction"], r["nrhs"], r["layout"], r["status"]) for r in records],
                         [(d, k, layout, "ok") for d in ("forward", "backward") for k, layout in ((1, "colmajor"), (3, "rowmajor"), (3, "colmajor"))])

    def test_factors_are_solved_by_panels_in_every_precision(self):
        for kind, matrix in (("chol", "laplace2d:n=9"), ("lu", "convection3d:n=4")):
            for uplo in ([], ["--uplo", "lower"], ["--uplo", "upper"]):
                code, table, records = bench("supernodal", f"{kind}:{matrix}", "--sweep", "types", "--reps", "2", "--peers", "none", *uplo)
                if any("libtrine_direct" in (r["reason"] or "") for r in records):
                    self.skipTest("built without CHOLMOD and SuperLU")
                self.assertEqual(code, 0, table)
                self.assertEqual([(r["dtype"], r["direction"], r["nrhs"], r["method"], r["status"]) for r in records],
                                 [(t, d, k, m, "ok") for t in "sdcz" for d in ("forward", "backward") for k in (1, 32)
                                  for m in ("supernodal", "supernodal:invert=none", "auto")])

    def test_whole_solves_are_compared_with_the_library_of_the_factor(self):
        code, table, records = bench("direct", "laplace2d:n=9", "convection3d:n=4", "--reps", "2", "--nrhs", "1,3")
        if "there is no suite" in table or code == 2:
            self.skipTest("built without CHOLMOD and SuperLU")
        self.assertEqual(code, 0, table)
        self.assertEqual({(r["factor"], r["impl"], r["method"], r["nrhs"], r["status"]) for r in records},
                         {(f, i, m, k, "ok") for f, library, routine in (("cholesky", "cholmod", "cholmod_l_solve2"), ("lu", "superlu", "dgstrs"))
                          for i, m in ((library, routine), ("trine", "auto"), ("trine", "general")) for k in (1, 3)})
        allowed = set(SCHEMA["every suite"]) | set(SCHEMA["direct"])
        for record in records:
            self.assertEqual(set(record) - allowed, set(), "not in bench/schema.json")
            self.assertLess(record["error"], 100)

    def test_what_cannot_run_is_skipped_with_a_reason(self):
        code, table, records = bench("sptrsv", "no_such_matrix", "laplace2d:n=3", "--reps", "2", "--peers", "cusparse", "--methods", "serial,nonsense",
                                     "--direction", "forward")
        self.assertEqual(code, 0, table)
        self.assertEqual([(r["impl"], r["method"], r["status"]) for r in records],
                         [("trine", None, "skipped"), ("trine", "serial", "ok"), ("trine", "nonsense", "skipped"), ("cusparse", "spsv", "skipped")])
        self.assertTrue(all(r["reason"] for r in records if r["status"] != "ok"))

    def test_several_sweeps_run_in_one_go_with_their_own_calls(self):
        code, table, records = bench("supernodal", "chol:laplace2d:n=6", "--sweep", "main,full", "--methods", "supernodal", "--direction", "forward")
        self.assertEqual(code, 0, table)
        if records[0]["status"] == "skipped":
            self.skipTest("built without CHOLMOD")
        own = [(r["sweep"], r["nrhs"], r["reps"]) for r in records if r["impl"] == "trine"]
        self.assertEqual(own, [(None, 1, 50), ("full", 1, 11), (None, 32, 50)])
        peers = [(r["solve_ms"], r["error"]) for r in records if r["impl"] == "cholmod" and r["nrhs"] == 1]
        self.assertEqual(len(peers), 2)
        self.assertEqual(peers[0], peers[1], "measured once")
        code, table, records = bench("sptrsv", "laplace2d:n=6", "--sweep", "levels")
        self.assertNotEqual(code, 0)
        self.assertIn('suite sptrsv has no sweep "levels"', table)

    def test_factors_in_single_precision_are_refined(self):
        code, table, records = bench("direct", "laplace2d:n=9", "--reps", "2", "--nrhs", "1", "--methods", "single,single:refine=1,single:refine=2")
        if "there is no suite" in table or code == 2:
            self.skipTest("built without CHOLMOD and SuperLU")
        self.assertEqual(code, 0, table)
        errors = [r["error"] for r in records if r["impl"] == "trine"]
        self.assertEqual(len(errors), 3)
        self.assertTrue(errors[0] > 1e6 > errors[1] > errors[2], errors)
        self.assertLess(errors[2], 1)

    def test_the_structure_sweep_counts_columns_and_solves_nothing(self):
        code, table, records = bench("sptrsv", "tril:laplace2d:n=5", "--sweep", "structure", "--direction", "forward")
        self.assertEqual(code, 0, table)
        self.assertEqual([(r["sweep"], r["levels"], r["solve_ms"]) for r in records], [("structure", 9, None)])
        self.assertEqual(records[0]["column_lengths"], "1:1 2:8 4:16")  # the last point; the last grid line and column; inside

    def test_the_busy_sweep_measures_alone_and_beside_programs_that_it_ends(self):
        code, table, records = bench("sptrsv", "tri:laplace2d:n=60", "--sweep", "busy", "--reps", "40", "--max-seconds", "1", "--direction", "forward")
        self.assertEqual(code, 0, table)
        self.assertEqual([(r["sweep"], r["method"], r["programs"], r["status"]) for r in records],
                         [("busy", m, n, "ok") for n in (0, 2) for m in ("serial", "levelset", "auto")])
        for record in records:
            self.check_keys(record)
        code, table, records = bench("sptrsv", "tri:laplace2d:n=9", "--reps", "2", "--methods", "serial")
        self.assertNotIn("programs", records[0])

    def test_the_synchronization_sweep_measures_its_barriers(self):
        code, table, records = bench("sptrsv", "tri:laplace2d:n=9", "--sweep", "synchronization", "--reps", "2", "--direction", "forward")
        self.assertEqual(code, 0, table)
        basic = [r for r in records if r["impl"] == "basic"]
        self.assertEqual([r["status"] for r in basic], ["ok"])
        self.assertTrue(0 < basic[0]["synchronization"] < 1)
        self.check_keys(basic[0])

    def test_parts_of_suite_tridiag_print_a_table_and_lines_of_json(self):
        code, table, records = bench("tridiag", "sparse", "--reps", "1", "--dtype", "s", "--peers", "none")
        self.assertEqual(code, 0, table)
        self.assertEqual({(r["suite"], r["problem"], r["dtype"], r["nrhs"], r["systems"], r["status"]) for r in records}, {("tridiag", "sparse", "s", 128, 1, "ok")})
        self.assertEqual([(r["n"], r["method"]) for r in records], [(n, m) for n in (1024, 4096, 16384) for m in ("csc2dense", "csc2csc", "auto")])
        for record in records:
            self.assertEqual((set(SCHEMA["every suite"]) - set(record), set(record) - set(SCHEMA["every suite"]) - set(SCHEMA["tridiag"])), (set(), set()))
            self.assertIn(f"trine {record['method']} ", table)

    def test_sweeps_of_suite_supernodal_run_on_any_device(self):
        for sweep, kind in (("variants", "chol"), ("full", "chol"), ("launch", "chol"), ("lu", "lu")):
            code, table, records = bench("supernodal", f"{kind}:laplace2d:n=9", "--sweep", sweep, "--reps", "2")
            if any("libtrine_direct" in (r["reason"] or "") for r in records):
                self.skipTest("built without CHOLMOD and SuperLU")
            self.assertEqual(code, 0, table)
            self.assertIn("ok", {r["status"] for r in records})
            allowed = set(SCHEMA["every suite"]) | set(SCHEMA["sptrsv, sptrsm"]) | set(SCHEMA["supernodal"])
            for record in records:
                self.assertEqual((record["sweep"], set(record) - allowed), (sweep, set()))
                self.assertEqual(record["analyse_ms"] is not None, record["status"] == "ok" and sweep != "launch")

    def check_products(self, records):
        known = {**SCHEMA["every suite"], **SCHEMA["spmv"]}
        types = {"string": str, "integer": int, "number": (int, float)}
        for record in records:
            self.assertEqual((set(SCHEMA["every suite"]) - set(record), set(record) - set(known)), (set(), set()))
            self.assertIn(record["status"], ("ok", "skipped"), record["reason"])
            for key, value in record.items():
                self.assertTrue(value is None or isinstance(value, types[known[key][0]]), key)

    def test_products_of_every_precision_layout_and_scalar_are_recorded(self):
        code, table, records = bench("spmv", "convection3d:n=4", "random:50:20", "--dtype", "s,d,c,z", "--nrhs", "1,3", "--reps", "2", "--peers", "openmp")
        self.assertEqual(code, 0, table)
        self.check_products(records)
        kinds = [(1, "colmajor", -0.5), (1, "colmajor", 0), (3, "colmajor", 0), (3, "rowmajor", 0)]
        self.assertEqual([(r["matrix"], r["dtype"], r["nrhs"], r["layout"], r["beta"], r["impl"], r["method"], r["status"]) for r in records],
                         [(m, t, *kind, i, name, "ok") for m in ("convection3d:n=4", "random:50:20") for t in "sdcz" for kind in kinds
                          for i, name in (("trine", "auto"), ("openmp", "loop"))])
        for record in records:
            size, read = {"s": 4, "d": 8, "c": 8, "z": 16}[record["dtype"]], 2 if record["beta"] else 1
            self.assertEqual(record["bytes"], record["nnz"] * (size + 4) + 4 * (record["n"] + 1) + record["nrhs"] * size * (min(record["columns"], record["nnz"]) + read * record["n"]))
            self.assertTrue(0 <= record["error"] < 1e-5 and record["products"] >= 1 and record["reps"] == 2)
        self.assertTrue(all(r["ratio_peer"] == "openmp" and r["ratio"] > 0 for r in records if r["impl"] == "trine"))

    def test_suite_forest_times_stages_and_compares_paths_with_a_walk(self):
        known = {**SCHEMA["every suite"], **SCHEMA["forest"]}
        code, table, records = bench("forest", "laplace2d:n=12", "lines:3:20", "--dtype", "s,d", "--reps", "2")
        self.assertEqual(code, 0, table)
        names = ["sequential", "extraction", "weights", "factor", "cycles", "order", "bands", "all", "extraction:scan", "cycles:scan", "order:scan"]
        self.assertEqual([(r["matrix"], r["dtype"], r["method"], r["status"]) for r in records],
                         [(m, t, n, "ok") for m in ("laplace2d:n=12", "lines:3:20") for t in "sd" for n in names])
        for record in records:
            self.assertEqual((set(SCHEMA["every suite"]) - set(record), set(record) - set(known)), (set(), set()))
        sweeps = {"proposition": ["spmv"] + [f"{r}:n={n}" for n in (1, 2, 3, 4) for r in ("propose", "first")], "decomposition": ["decompose:1", "decompose:4"],
                  "scans": [f"pass:{s}:{k}" for s in ("edges", "lengths") for k in range(5)], "threads": [f"{n}{s}" for s in ("", ":scan") for n in names[2:8]],
                  "coverage": ["greedy"] + [f"{r}:rounds={k}" for r in ("hash", "charged", "lowest-index") for k in range(1, 13)] +
                  ["forest"] + [f"improve:rounds={k}" for k in (1, 2, 5, 10, 20)]}
        for sweep, methods in sweeps.items():
            code, table, records = bench("forest", "laplace2d:n=5", "--sweep", sweep, "--dtype", "d", "--reps", "2")
            self.assertEqual(code, 0, table)
            self.assertEqual([(r["method"], r["sweep"], r["status"]) for r in records], [(m, sweep, "ok") for m in methods])
            self.assertEqual({key for record in records for key in record} - set(known), set())
        code, table, records = bench("forest", "no_such_matrix", "--sweep", "coverage")
        self.assertEqual([(r["status"], code) for r in records], [("skipped", 0)])
        code, table, records = bench("forest", "--sweep", "fused")
        self.assertIn('suite forest has no sweep "fused"', table)

    def test_suite_precond_solves_with_every_method_and_judges_claims(self):
        known = {**SCHEMA["every suite"], **SCHEMA["precond"]}
        code, table, records = bench("precond", "rotate7:n=24", "grounded2d:n=60")
        self.assertEqual(code, 0, table)
        self.assertEqual({key for r in records for key in r} - set(known), set(), "not in bench/schema.json")
        solved = [r for r in records if r["sweep"] is None]
        self.assertEqual({r["reason"] for r in solved if r["status"] != "ok"}, {"no grid of n x n points is known"})
        self.assertTrue(all(r["error"] <= 1.01e-6 for r in solved if r.get("outcome") == "converged"))
        self.assertGreater(sum(r.get("outcome") == "converged" for r in solved), 50)
        claims = {r["method"]: r["chosen"] for r in records if r["sweep"] == "claims"}
        self.assertEqual(claims["5.3.3: ALT-i is far superior to exact ILU(0) on ECOLOGY2"], "held", table)
        self.assertIn("not testable  5.3.3: ALT-i is faster than ILU on G3_CIRCUIT", table)
        for r in solved:  # the bytes of a step are those of the schema
            if r["method"] == "diagp0":
                self.assertEqual(r["bytes"], 12 * r["nnz"] + 4 * (r["n"] + 1) + 24 * r["n"] + 8 * r["n"] * 40.5)
        code, table, records = bench("precond", "tridiag:n=20", "--methods", "alg-try")
        self.assertIn('there is no preconditioner "alg-try"', table)

    def test_suite_precond_has_the_tables_and_figures_of_the_thesis(self):
        known = {**SCHEMA["every suite"], **SCHEMA["precond"]}
        code, table, records = bench("precond", "--sweep", "table17", "laplace2d:n=1000", "rotate7:n=1000", "grounded2d:n=1000")
        self.assertEqual(code, 0, table)
        self.assertEqual([(r["thesis"], r["n"], r["nnz"], r["longest_row"], r["c_diag_printed"]) for r in records],
                         [("MODEL8", 10**6, 4996000, 5, 0.5), ("MODEL4", 10**6, 6992002, 7, 0.39), ("like ECOLOGY2", 999999, 4995991, 5, 0.5)])
        for c_diag, r in zip((1 / 2, 0.3863, 1 / 2), records):  # of an infinite grid
            self.assertLess(abs(r["c_diag"] - c_diag), 1e-3)
        code, table, histories = bench("precond", "--sweep", "histories", "rotate7:n=24")
        self.assertEqual(code, 0, table)
        self.assertEqual(len(histories), 22)
        code, table, covered = bench("precond", "--sweep", "figure40", "aniso2:n=24")
        self.assertEqual(code, 0, table)
        m = covered[0]["method"].split("=")[1]
        self.assertEqual([r["method"] for r in covered], [f"{scheme}:m={m}" for scheme in ("alt-o", "alt-i", "mos-d", "mos-a")] + ["ilu0", "alt-i:m=3"])
        self.assertTrue(all(0.99 <= r["coverage"] <= 1 for r in covered))
        for r in histories + covered:
            self.assertEqual((r["status"], r["outcome"]), ("ok", "converged"), r)
            points = [tuple(map(float, point.split(":"))) for point in r["points"].split()]
            self.assertEqual((points[0], points[-1][0]), ((0, 1, 1), r["iterations"]))
            self.assertEqual(sorted(points), points)
            self.assertLessEqual(points[-1][1], 1e-6)
        code, table, steps = bench("precond", "--sweep", "steps", "aniso2:n=24", "--nrhs", "1,3", "--methods", "diagp0,cg/none")
        self.assertEqual(code, 0, table)
        self.assertEqual([(r["method"], r["nrhs"], r["status"]) for r in steps], [(m, k, "ok") for m in ("diagp0", "cg/none") for k in (1, 3)])
        for one, three in (steps[:2], steps[2:]):
            vectors = three["bytes"] - one["bytes"]
            self.assertTrue(one["step_ms"] > 0 and vectors > 0 and vectors % (8 * 24**2) == 0)
        self.assertEqual({key for r in records + histories + covered + steps for key in r} - set(known), set(), "not in bench/schema.json")
        code, table, records = bench("precond", "--sweep", "levels")
        self.assertIn('suite precond has no sweep "levels"', table)

    def test_sweeps_of_suite_spmv_are_relative_to_the_product(self):
        for sweep, base, methods in (("values", "auto", ("auto", "auto:single", "auto:half")), ("fused", "auto", ("auto", "auto:fused", "auto:fused-u", "auto:axpy")),
                                     ("applications", "adaptive", ("adaptive", "max", "max-column", "arg-max", "arg-max2")),
                                     ("operators", "loop", ("loop", "entry", "segment", "rows", "plus-times"))):
            code, table, records = bench("spmv", "convection3d:n=4", "--sweep", sweep, "--dtype", "d", "--reps", "2")
            self.assertEqual(code, 0, table)
            self.check_products(records)
            self.assertEqual([(r["sweep"], r["method"], r["status"], r["relative_to"]) for r in records], [(sweep, m, "ok", base) for m in methods])
            self.assertEqual(records[0]["relative"], 1)
        code, table, records = bench("spmv", "no_such_matrix", "--sweep", "creation,levels")
        self.assertNotEqual(code, 0)
        self.assertIn('suite spmv has no sweep "levels"', table)

    def test_wrong_options_are_named(self):
        for words in (["nosuite"], [], ["sptrsv", "--dtype", "q"], ["sptrsv", "--nrhs", "0"], ["sptrsv", "--reps", "x"], ["sptrsv", "--copy", "0"], ["sptrsv", "--uplo", "left"], ["sptrsv", "--sweep", "seven"]):
            code, output, records = bench(*words)
            self.assertNotEqual(code, 0)
            self.assertIn("trine-bench", output)
            self.assertEqual(records, [])


class Report(unittest.TestCase):
    def record(self, **changes):
        base = {key: None for key in SCHEMA["every suite"]}
        base.update(suite="sptrsv", matrix="tri:a<b", n=10, nnz=30, dtype="d", op="N", uplo="lower", direction="forward", nrhs=1, impl="trine",
                    method="auto", chosen="serial", status="ok", analyse_ms=3.0, numeric_ms=1.0, solve_ms=0.5, solve_min_ms=0.4, error=1e-16,
                    bytes=520, copy_gbs=100.0, reps=50, device="test", device_full="made up", commit="0", date="2000-01-01T00:00:00Z",
                    levels=5, level_rows_min=1, level_rows_mean=2.0, level_rows_max=4, us_per_level=100.0, gflops=1e-4, copy_fraction=1e-5)
        return {**base, **changes}

    def make(self, records, document=None):
        """All pages of the site, then what git would track, as one text; the plots of the site."""
        with tempfile.TemporaryDirectory() as folder:
            results, site, docs = (pathlib.Path(folder) / name for name in ("results", "site", "docs"))
            results.mkdir()
            docs.mkdir()
            if document:
                (docs / "document.md").write_text(document, encoding="utf-8")
            (results / "x.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
            report = [sys.executable, str(ROOT / "bench/report.py"), "--results", str(results), "--docs", str(docs)]
            subprocess.run(report + ["--site", str(site)], check=True, capture_output=True)
            self.assertNotEqual(subprocess.run(report + ["--check"], check=False, capture_output=True).returncode, 0)
            subprocess.run(report, check=True, capture_output=True)
            self.assertEqual(subprocess.run(report + ["--check"], check=False, capture_output=True).returncode, 0)
            plots = {path.name: path.read_text(encoding="utf-8") for path in (site / "benchmarks").glob("*.svg")}
            self.assertEqual(list(docs.rglob("*.svg")), [])  # no README shows one
            return "".join(path.read_text(encoding="utf-8") for folder in (site, docs) for path in folder.rglob("*.md")), plots

    def test_tables_and_plots_show_every_record(self):
        page, plots = self.make([
            self.record(ratio_peer="cusparse", ratio=2.0), self.record(matrix="b", ratio_peer="cusparse", ratio=4.0, solve_ms=5.0),
            self.record(impl="cusparse", method="spsv", solve_ms=1.0, reps=7), self.record(matrix="b", method="levelset", status="failed", reason="wrong: 1", solve_ms=None),
            self.record(matrix="c", status="skipped", reason="no c", solve_ms=None)])
        for text in ("tri:a<b", "cusparse spsv ms", "wrong: 1", "1 x no c", "2.67 times as fast in the harmonic mean", "2.83 in the geometric", "least 2",
                     "Fewest calls of a median, where below 50: cusparse spsv 7."):
            self.assertIn(text, page)
        self.assertEqual(len(plots), 2)
        for name, plot in plots.items():
            self.assertIn(name, page)
            self.assertTrue(xml.etree.ElementTree.fromstring(plot).tag.endswith("svg"))

    def test_figures_of_tridiagonal_solves_are_drawn_and_documents_get_their_tables(self):
        def record(problem, method="auto", **changes):
            n, systems = changes.get("n", 2 ** 20), changes.get("systems", 1)
            return self.record(**{**dict(suite="tridiag", matrix=f"{problem}: n={n}, {systems}", n=n, nnz=3 * n * systems, op="N", uplo=None, direction=None, problem=problem, systems=systems,
                                         method=method, impl="cusparse" if "gtsv2" in method or "gpsv" in method else "trine", grows_per_second=1.0, copy_fraction=0.5,
                                         copy_fraction_one_pass=0.25, work_bytes=8 * n * systems * 0.2), **changes})

        sizes = [record("gtsv", m, n=n, solve_ms=t) for n in (2 ** 10, 2 ** 20) for m, t in (("auto", 0.01), ("gtsv2", 0.08))]
        tiles = [record("tiles kl=ku=2", m, n=64, systems=2 ** p // 64, solve_ms=1.0 + p) for p in (12, 20) for m in ("auto", "gpsvInterleavedBatch")]
        blocks = [record(f"blocks of {k}", m, n=n, nrhs=c) for k in (2, 3) for n, c in ((2 ** 12, 1), (2 ** 17, 1), (2 ** 17, 4)) for m in ("bgtsv", "bgtf", "bgtfs")]
        columns = [record(p, m, n=n, nrhs=k) for p, m in (("right-hand sides", "auto"), ("sparse right-hand sides", "csc2dense")) for n in (2 ** 12, 2 ** 20) for k in (1, 64)]
        ends = [record("final stage", m, solve_ms=t) for m, t in (("one-thread:M=32", 4.0), ("stages", 1.0))]
        marks = "<!-- record: {} -->\nold\n<!-- end of record -->\n"
        page, plots = self.make(sizes + tiles + blocks + columns + ends, "before\n" + marks.format("gtsv-sizes") + marks.format("gtsv-cpu") + "after\n")
        for stem in ("figure12", "figure13-speedup", "figure15", "figure15-rows", "figure15-sparse", "figure16-3", "figure17", "figure18-pentadiagonal"):
            self.assertIn(f"tridiag-test-d-{stem}.svg", sorted(plots))
        self.assertIn("| kl=ku=2, 2^20, tile 64 | 21000 ", page)   # microseconds
        self.assertIn("with 1 to 64 right-hand sides: 5 %", page)  # 0.2 of N elements, over N (1 + 3)
        self.assertIn("before\n<!-- record: gtsv-sizes -->\n| rows |", page)
        self.assertIn("| 2^20 | - | - | - | - | 10 | 80 | 8.0 | - |", page)
        self.assertIn("<!-- record: gtsv-cpu -->\nold\n<!-- end of record -->\nafter", page)  # no such records: as it was

    def test_preconditioners_are_ranked_by_their_time_from_the_matrix_to_x(self):
        def record(method, total, impl="trine", outcome="converged", **changes):
            return self.record(**{**dict(suite="precond", matrix="grid", uplo=None, direction=None, method=method, impl=impl, chosen=method, outcome=outcome, iterations=7,
                                         setup_ms=1.0, total_ms=total, iteration_ms=0.1, device="cpu-2t"), **changes})

        records = [record("auto", 6.0, chosen="ilu0"), record("ilu0", 5.0), record("mos-d:m=2", 8.0), record("cg/ic0", 2.0), record("diagp0", 1.0, outcome="stagnation"),
                   record("smoothed_aggregation", 3.0, "pyamg"), record("auto", 9.0, matrix="other"), record("diagp1", 3.0, matrix="other"),
                   record("4.6: a claim", None, sweep="claims", chosen="not held", numbers="steps: a 1, b 2", solve_ms=None)]
        marks = "<!-- record: {} -->\n<!-- end of record -->\n"
        page, plots = self.make(records, marks.format("preconditioners") + marks.format("auto-preconditioner") + marks.format("claims-of-splittings"))
        for text in ("| `grid` | 10 | ilu0, 7 steps, 5 | mos-d:m=2, 7 steps, 8 | cg/ic0, 7 steps, 2 | ilu0, 1.2 | PyAMG smoothed_aggregation, 7 steps, 3 |",
                     "`auto` is within 1.5 of the fastest on 1 of 2 matrices.", "| 4.6: a claim | `grid` | not held | steps: a 1, b 2 |"):
            self.assertEqual(page.count(text), 2, text)  # in the page, and in the document
        self.assertIn("precond-cpu-2t-families.svg", plots)

    def test_sweeps_of_suite_supernodal_are_tables_and_plots(self):
        def record(direction, method="supernodal", **changes):
            return self.record(suite="supernodal", matrix="chol:m", direction=direction, method=method, error=2.0 ** -51,
                               **{"fill": 1.5, "panels": 3, "panel_levels": 2, **changes})
        page, plots = self.make([
            *[record(d, sweep="spd", ratio=r, ratio_peer="cusparse") for d, r in (("forward", 4.0), ("backward", 9.0))],
            *[record(d, "spsv", sweep="spd", impl="cusparse", solve_ms=7.25) for d in ("forward", "backward")],
            *[record("forward", m, sweep="variants", solve_ms=t) for m, t in (("supernodal:team", 0.25), ("supernodal:team:pull", 0.125))],
            record("backward", "supernodal:team", sweep="levels", level_us="3.5 4.25", level_panels="2 1", level_entries="10 20", mark_us=1.5),
            record("forward", "supernodal:spmv", sweep="launch", kernels=9, launch_ms=0.125, host_ms=0.03125),
            record("forward", "supernodal:spmv:nograph", sweep="launch", solve_ms=0.625, kernels=9, launch_ms=0.125, host_ms=0.6)])
        for text in ("| `supernodal` | 2 | 4.0 | 9.0 | 6.0 | 4.0 |", "| 7.25 | 0.5 |", "| `supernodal:team` | 3 | 1 | 0.25 | 0.125 | - | - | 1.5 |",
                     "| 1 | 2 | 10 | 3.5 |", "| all | 3 | 30 | 7.75 |", "1.5 apart", "| 9 | 0.5 | 0.125 | 0.375 | 25% | 0.0312 | 0.625 | 0.6 |"):
            self.assertIn(text, page)
        self.assertEqual({name.removesuffix(".svg").split("-")[2] for name in plots if name != "headlines.svg"}, {"spd", "variants", "levels", "launch"})

    def test_headlines_tell_what_is_slower(self):
        def factor(matrix, ratio):
            return self.record(suite="supernodal", matrix=matrix, method="supernodal", ratio=ratio, ratio_peer="cusparse", device="h200", fill=1.5, panels=3, panel_levels=2)

        def product(matrix, ratio):
            return self.record(suite="spmv", matrix=matrix, nnz=2 * 10 ** 6, uplo=None, direction=None, beta=0.0, layout="colmajor", device="cpu-2t", longest_row=7, columns=10, analyse_ms=None,
                               ratio=ratio, ratio_peer="mkl", ratio_peer_method="mv")
        records = [factor("a", 4.0), {**factor("a", 9.0), "direction": "backward"}, product("a", 0.5), product("b", 2.0), product("c", 0.25)]
        page, plots = self.make(records, "<!-- record: headlines -->\n<!-- end of record -->\n")
        self.assertIn("| with Cholesky and LU factors as dense panels, 1 factors | 4.0 for L, 9.0 for L^T (geometric means; least 4.00) |", page)
        self.assertIn("| product with a vector beside MKL, double, 3 matrices | 0.63 (geometric mean; least 0.25; slower on 2) |", page)
        self.assertIn("![Times as fast as other libraries](benchmarks/headlines.svg)", page)
        places = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', plots["headlines.svg"])]
        line = float(re.search(r'<line x1="([0-9.]+)"[^/]*stroke="#222222"/>', plots["headlines.svg"])[1])
        self.assertEqual([x < line for x in places], [False, False, True, True, False])  # by row, then by ratio

    def test_products_are_tables_and_figures(self):
        def product(matrix, method="auto", impl="trine", **changes):
            return self.record(**{**dict(suite="spmv", matrix=matrix, impl=impl, method=method, uplo=None, direction=None, beta=-0.5, layout="colmajor", longest_row=7,
                                         columns=10, copy_fraction=0.5, analyse_ms=None), **changes})
        peer = dict(ratio_peer="cusparse", ratio_peer_method="alg2")
        page, plots = self.make([
            product("large", nnz=2 * 10 ** 6, solve_ms=0.5, analyse_device_ms=0.125, ratio=0.8, slower_us=100.0, **peer), product("large", "alg2", "cusparse", nnz=2 * 10 ** 6, solve_ms=0.4),
            product("small", solve_ms=0.25, analyse_device_ms=0.25, ratio=1.25, slower_us=-50.0, **peer), product("small", "alg2", "cusparse", solve_ms=0.3125),
            *[product("large", m, sweep="applications", solve_ms=t, relative=t / 0.5, relative_to="adaptive") for m, t in (("adaptive", 0.5), ("max", 0.25))],
            product("large", "arg-max2", sweep="applications", solve_ms=0.75, relative=1.5, relative_to="adaptive", ratio_peer="cub", ratio=12.0),
            product("large", "auto", sweep="fused", beta=0, solve_ms=0.5, relative=1.0), product("large", "auto:fused", sweep="fused", beta=0, solve_ms=0.625, relative=1.25, epilogue_bytes=0),
            product("large", "created: compiled", sweep="creation", solve_ms=400.0)])
        for text in ("1 times as fast in the geometric mean", "at most 1.25 times its time (`large`)", "below, -50 us slower at most (`small`)", "| `small` | serial | 250 | 250 | 50 |",
                     "arg-max2 takes at most 1.5 times the product's time (`large`); CUB's segmented reduction 12 times", "| auto:fused | 500 | 625 | 1.25 | 0 |", "| created: compiled | 400 |"):
            self.assertIn(text, page)
        self.assertEqual({name.removeprefix("spmv-test-").removesuffix(".svg") for name in plots},
                         {"d-1-figure24", "d-1-figure24-preprocessing", "d-1-figure25", "applications-d-figure26"})

    def test_layouts_and_precisions_have_tables_of_their_own(self):
        many = dict(suite="sptrsm", nrhs=8, ratio_peer="cusparse")
        page, plots = self.make([self.record(**many, layout="rowmajor", solve_ms=0.25, ratio=2.0), self.record(**many, layout="colmajor", solve_ms=0.375, ratio=3.0)])
        for text in ("## Double, forward, 8 right-hand sides\n", "## Double, forward, 8 right-hand sides, column-major\n", "| forward, 8 right-hand sides | cuSPARSE | 1 | 2 |",
                     "| forward, 8 right-hand sides, column-major | cuSPARSE | 1 | 3 |"):
            self.assertIn(text, page)
        self.assertEqual(len(plots), 4)

        def record(direction, sweep, **changes):
            return self.record(suite="supernodal", matrix="lu:m", direction=direction, sweep=sweep, **{"method": "supernodal", "ratio_peer": "cusparse", **changes})
        page, _ = self.make([record("forward", "lu", solve_ms=0.25, ratio=4.0, nnz=30), record("backward", "lu", solve_ms=0.125, ratio=9.0, nnz=40),
                             record("forward", "types", dtype="s", solve_ms=0.0625), record("forward", "types", dtype="z", solve_ms=0.5),
                             record("forward", "lu", impl="cusparse", method="spsv", solve_ms=1.0, ratio=None, ratio_peer=None)])
        for text in ("## SuperLU's factors: L forward, U backward, 1 right-hand side", "| `lu:m` | 10 | 30 / 40 | `supernodal` | serial | 3 | 1 | 0.25 | 0.125 | 4.0 | 9.0 |",
                     "| `supernodal` | 2 | 4.0 | 9.0 | 6.0 | 4.0 |", "| `lu:m` | single | 10 | 30 | `supernodal` | serial | 3 | 1 | 0.0625 | - |", "| `lu:m` | double complex |"):
            self.assertIn(text, page)

    def test_the_last_of_several_records_of_one_measurement_counts(self):
        page, _ = self.make([self.record(solve_ms=7.125), self.record(solve_ms=0.0625)])
        self.assertIn("0.0625", page)
        self.assertNotIn("7.12", page)

    def test_a_suite_without_a_section_of_its_own_is_listed(self):
        page, _ = self.make([self.record(suite="spgemm", method="csr")])
        self.assertIn("# spgemm: test", page)
        self.assertIn("| csr |", page)


if __name__ == "__main__":
    unittest.main()
