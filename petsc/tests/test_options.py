#!/usr/bin/env python3
"""Options of trine as a user of PETSc meets them: test_options.py LIBRARY POISSON, the program of petsc/examples/.

How the library is loaded, -help, -ksp_view, -log_view, which solver plain types have, and what wrong options get: an error of PETSc on every
rank with one sentence that names the option, and an end in time.
"""
import re
import shutil
import sys
import unittest

import launch

LIBRARY, POISSON = "", ""
INNER = ["-n", "8", "-ksp_type", "gmres", "-pc_type", "bjacobi", "-sub_pc_type", "trine"]


def solve(*options, ranks=1, library=True, **more):
    return launch.run(launch.command(ranks, POISSON) + list(options) + (launch.loaded(LIBRARY) if library else []), **more)


class Loading(unittest.TestCase):
    def assert_solved(self, result):
        code, output = result
        self.assertEqual(launch.complaints(code, output), [], output)
        self.assertIn("CONVERGED_RTOL", output)

    def test_dll_append(self):
        self.assert_solved(solve(*INNER))

    def test_environment(self):
        self.assert_solved(solve(*INNER, library=False, PETSC_OPTIONS=f"-dll_append {LIBRARY} -malloc_dump"))

    def test_both(self):
        self.assert_solved(solve(*INNER, PETSC_OPTIONS=f"-dll_append {LIBRARY}"))

    def test_without_it(self):
        code, output = solve(*INNER, library=False)
        self.assertTrue(code)
        self.assertIn("trine", output)

    def test_devices(self):
        for device in ("cpu:2", "cpu", "auto"):
            self.assert_solved(solve(*INNER, "-sub_pc_trine_device", device))

    def test_not_used(self):
        self.assert_solved(solve("-n", "8"))


class Output(unittest.TestCase):
    def output(self, *options, **more):
        code, output = solve(*options, **more)
        self.assertEqual(launch.complaints(code, output), [], output)
        return output

    def test_refinement(self):
        for asked, steps in (((), 0), (("-sub_pc_trine_refine", "0"), 0), (("-sub_pc_trine_refine", "2"), 2)):
            self.assertRegex(self.output(*INNER, *asked, "-ksp_view"), rf"steps of refinement: {steps}\b", str(asked))

    def test_help(self):
        text = self.output("-n", "4", "-pc_type", "trine", "-help")
        for option in ("method", "device", "ordering", "refine", "m"):
            self.assertRegex(text, rf"(?m)^ *-pc_trine_{option}\b", f"-help does not show -pc_trine_{option}")
        self.assertRegex(text, r"-pc_type .*\btrine\b")
        self.assertRegex(text, r"-pc_trine_method.*\bilu0\b")

    def test_help_with_prefix(self):
        self.assertRegex(self.output(*INNER, "-help"), r"(?m)^ *-sub_pc_trine_method\b")

    def test_view(self):
        text = self.output(*INNER, "-sub_pc_trine_method", "ilu0", "-ksp_view")
        self.assertRegex(text, r"type: trine")
        self.assertRegex(text, r"\bilu0\b")
        self.assertRegex(text, r"\bcpu\b")
        self.assertRegex(self.output(*INNER, "-ksp_view"), r"\bdirect\b")

    def test_log(self):
        text = self.output(*INNER, "-log_view", ranks=2 if shutil.which("mpiexec") else 1)
        for event in ("TrineSetUp", "TrineSolve"):
            self.assertRegex(text, rf"(?m)^{event} +[1-9]", f"-log_view has no {event}")

    def test_plain_types_are_those_of_petsc(self):
        for kind in ("ilu", "icc", "lu", "cholesky"):
            text = self.output("-n", "6", "-pc_type", kind, "-ksp_view")
            self.assertRegex(text, r"package used to perform factorization: petsc", kind)
            text = self.output("-n", "6", "-pc_type", kind, "-pc_factor_mat_solver_type", "trine", "-ksp_view")
            self.assertRegex(text, r"package used to perform factorization: trine", kind)


# Options, and what the sentence has to name. A rank's own error, or that of all.
WRONG = [
    (["-sub_pc_trine_method", "nonsense"], r"pc_trine_method"),
    (["-sub_pc_trine_device", "nonsense"], r"pc_trine_device"),
    (["-sub_pc_trine_device", "cuda:99"], r"pc_trine_device"),
    (["-sub_pc_trine_device", "cpu:0"], r"pc_trine_device"),
    (["-sub_pc_trine_ordering", "nonsense"], r"pc_trine_ordering"),
    (["-sub_pc_trine_refine", "-1"], r"pc_trine_refine"),
    (["-sub_pc_trine_method", "mos-d", "-sub_pc_trine_m", "-3"], r"pc_trine_m\b"),
    (["-sub_pc_trine_method", "iluk", "-sub_pc_trine_levels", "-1"], r"pc_trine_levels"),
    (["-sub_pc_trine_method", "ilut", "-sub_pc_trine_threshold", "-1"], r"pc_trine_threshold -1[.]?: not a number from 0 to 1"),
]


class Wrong(unittest.TestCase):
    def assert_refused(self, pattern, *options, ranks):
        code, output = solve(*INNER, *options, ranks=ranks)
        self.assertIsNotNone(code, f"{options} on {ranks} ranks: it did not end")
        self.assertTrue(code, f"{options} on {ranks} ranks: no error\n{output}")
        self.assertNotRegex(output, r"Caught signal|Segmentation", f"{options} on {ranks} ranks")
        # Behind the headline of PETSc's error stands its text, up to the first line that PETSc adds.
        texts = re.findall(r"Error Message -+\n(.*?)\[\d\]PETSC ERROR: (?:WARNING|See https)", output, re.S)
        self.assertTrue(texts and re.search(pattern, texts[0]), f"{options} on {ranks} ranks: no sentence names {pattern}\n{output[:3000]}")

    def test_one_rank(self):
        for options, pattern in WRONG:
            with self.subTest(options=options):
                self.assert_refused(pattern, *options, ranks=1)

    @unittest.skipUnless(shutil.which("mpiexec"), "there is no mpiexec")
    def test_two_ranks(self):
        for options, pattern in WRONG[:4]:
            with self.subTest(options=options):
                self.assert_refused(pattern, *options, ranks=2)

    @unittest.skipUnless(shutil.which("mpiexec"), "there is no mpiexec")
    def test_an_error_of_one_rank(self):
        # 343 rows on two ranks: a grid of 43 x 4 points is that of the first rank only.
        self.assert_refused(r"rank 1: .*sub_pc_trine_method adi", "-n", "7", "-sub_pc_trine_method", "adi", "-sub_pc_trine_nx", "43",
                            "-sub_pc_trine_ny", "4", ranks=2)

    @unittest.skipUnless(shutil.which("mpiexec"), "there is no mpiexec")
    def test_distributed_matrix(self):
        self.assert_refused(r"bjacobi|asm", "-pc_type", "trine", ranks=2)


if __name__ == "__main__":
    LIBRARY, POISSON = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
