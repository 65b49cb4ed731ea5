"""Tests of petsc/bench/table: usage test_table.py BUILD. Tiny problems; nothing is said of times."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = sys.argv.pop(1)
SCHEMA = json.loads((HERE.parent.parent / "bench/schema.json").read_text(encoding="utf-8"))


def records(*words):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "records.jsonl"
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run([sys.executable, HERE / "table", *words, "--build", BUILD, "--json", path, "--seconds", "0.01", "--limit", "60"], check=True, env=environment)
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Table(unittest.TestCase):
    def test_sub_solvers_of_both_take_the_same_steps_and_their_records_follow_the_schema(self):
        found = records("laplace2d:n=20", "--solvers", "petsc:lu,trine:lu,trine:direct,petsc:ilu0,trine:ilu0")
        self.assertEqual([(r["impl"], r["method"], r["status"], r["outcome"]) for r in found],
                         [(*name.split(":"), "ok", "converged") for name in ("petsc:lu", "trine:lu", "trine:direct", "petsc:ilu0", "trine:ilu0")], [r["reason"] for r in found])
        lu, ilu = [r["iterations"] for r in found[:3]], [r["iterations"] for r in found[3:]]
        self.assertEqual((max(lu) - min(lu), max(ilu) - min(ilu)), (0, 0))
        self.assertLess(lu[0], ilu[0])
        allowed = {**SCHEMA["every suite"], **SCHEMA["petsc"]}
        types = {"string": str, "integer": int, "number": (int, float)}
        for record in found:
            self.assertEqual(set(record) - set(allowed), set(), "not in bench/schema.json")
            self.assertEqual(set(SCHEMA["every suite"]) - set(record), set(), "missing")
            self.assertTrue(all(value is None or isinstance(value, types[allowed[key][0]]) for key, value in record.items()), record)
            self.assertEqual((record["n"], record["nnz"], record["ranks"]), (400, 1920, 2))
            self.assertLess(record["error"], 1.01e-8)
            self.assertLessEqual(record["solve_min_ms"], record["solve_ms"])

    def test_what_does_not_run_is_a_record_that_says_why(self):
        found = records("no_such_matrix", "--solvers", "petsc:lu")
        self.assertEqual([r["status"] for r in found], ["failed"])
        self.assertIn("no_such_matrix", found[0]["reason"])


unittest.main()
