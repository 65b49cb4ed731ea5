"""Tests of tools/gpu-test: what counts as a change of the sources, what a test program's output says, and which records are good."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

loader = importlib.machinery.SourceFileLoader("gpu_test", str(pathlib.Path(__file__).parent.parent / "tools/gpu-test"))
gpu_test = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_test", loader))
loader.exec_module(gpu_test)


class StrippingC(unittest.TestCase):
    def same(self, a, b):
        self.assertEqual(gpu_test.strip_c(a), gpu_test.strip_c(b))

    def differ(self, a, b):
        self.assertNotEqual(gpu_test.strip_c(a), gpu_test.strip_c(b))

    def test_comments_do_not_count(self):
        self.same("int a; // one\nint b;", "int a;\nint b; /* two\n lines */")
        self.same("int a; // goes on \\\n here\nint b;", "int a;\nint b;")
        self.same("int/**/a;", "int a;")

    def test_blank_space_does_not_count(self):
        self.same("f(a,b);\n\n\n  g ( ) ;", "f(a, b); g();")
        self.same("int a;\r\n", "int a;\n")

    def test_blank_space_between_tokens_counts(self):
        self.differ("int a;", "inta;")
        self.differ("a = b - -c;", "a = b --c;")
        self.differ("a + ++b;", "a ++ + b;")

    def test_strings_are_kept_as_they_are(self):
        self.differ('s = "a  b";', 's = "a b";')
        self.same('s = "// no comment"; // one', 's = "// no comment";')
        self.same('s = "quote \\" /* text */"; /* x */', 's = "quote \\" /* text */";')
        self.differ("c = ' ';", "c = '';")
        self.same("c = '\"'; // x", "c = '\"';")
        self.differ('s = R"(a // b)";', 's = R"(a)";')

    def test_digit_separators_do_not_begin_a_character(self):
        self.same("n = 1'000'000; // it's many", "n = 1'000'000;")

    def test_directives_end_with_their_line(self):
        self.differ("#define F (x)", "#define F(x)")
        self.differ("#define A\nint b;", "#define A int b;")
        self.same("#define A 1 \\\n  + 2\nint b;", "#  define A   1 + 2\n\nint b;")

    def test_code_counts(self):
        self.differ("a = 1;", "a = 2;")


class StrippingCMakeAndPython(unittest.TestCase):
    def test_comments_and_empty_lines_do_not_count(self):
        self.assertEqual(gpu_test.strip_hash("a() # x\n\n# y\nb()  \n"), "a()\nb()")
        self.assertEqual(gpu_test.strip_hash("a() #[[ two\nlines ]] b()"), "a()  b()")

    def test_a_hash_in_a_string_is_none(self):
        self.assertEqual(gpu_test.strip_hash('a("# x") # y'), 'a("# x")')
        self.assertEqual(gpu_test.strip_hash("a = '#' # y"), "a = '#'")
        self.assertEqual(gpu_test.strip_hash('"""doc\n# kept"""\n# not'), '"""doc\n# kept"""')

    def test_indentation_counts(self):
        self.assertNotEqual(gpu_test.strip_hash("if a:\n  b\nc"), gpu_test.strip_hash("if a:\n  b\n  c"))

    def test_programs_for_the_cpu_alone_do_not_count(self):
        kept = "a()\ntrine_test(core DEVICES)\n  trine_test(stream GPU_ONLY LIBRARIES c)\n"
        self.assertEqual(gpu_test.gpu_tests_only("trine_test(io LIBRARIES z)\n" + kept), kept)
        files = gpu_test.source_files()
        self.assertIn("tests/test_core.c", files)
        self.assertIn("tests/test_stream.c", files)
        self.assertNotIn("tests/test_io.c", files)
        self.assertFalse(gpu_test.on_gpu(pathlib.Path("tests/test_io.c"), {"io"}))
        self.assertTrue(gpu_test.on_gpu(pathlib.Path("tests/test_core.c"), {"io"}))
        self.assertTrue(gpu_test.on_gpu(pathlib.Path("tests/harness.c"), {"io"}))


class CountingCases(unittest.TestCase):
    def test_every_case_counts_once(self):
        output = ("[==========] cpu: Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\nwhy\n[  FAILED  ] b\n"
                  "[ RUN      ] c\n[  SKIPPED ] c\n[==========] cpu: 3 test(s) run.\n[  PASSED  ] 1 test(s).\n"
                  "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] c\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n")
        self.assertEqual(gpu_test.count_cases("x", 1, output), {"x: a": "passed", "x: b": "failed", "x: c": "skipped"})

    def test_a_crash_is_a_failure(self):
        output = "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n"
        self.assertEqual(gpu_test.count_cases("x", -11, output), {"x: a": "passed", "x: b": "failed"})
        self.assertEqual(gpu_test.count_cases("x", -11, ""), {"x": "failed"})
        self.assertEqual(gpu_test.count_cases("x", None, ""), {"x": "failed"})
        self.assertEqual(gpu_test.count_cases("x", 1, "[ RUN      ] a\n[       OK ] a\n"), {"x: a": "passed", "x": "failed"})

    def test_no_device_is_a_skip(self):
        self.assertEqual(gpu_test.count_cases("x", 77, "skipped, no device"), {"x": "skipped"})

    def test_a_program_without_cases_is_one(self):
        self.assertEqual(gpu_test.count_cases("x", 0, "fine"), {"x": "passed"})

    def test_matrices_that_are_not_there_are_named(self):
        output = "[ RUN      ] a\nskipped: no real matrix nos3\n[  SKIPPED ] a\nno recorded system T4_07\n"
        self.assertEqual(gpu_test.matrices_missing(output), {"nos3", "T4_07"})


class FindingTests(unittest.TestCase):
    def test_a_tree_built_elsewhere_is_found_here(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "CMakeCache.txt").write_text("CMAKE_CACHEFILE_DIR:INTERNAL=/there/build\nCMAKE_HOME_DIRECTORY:INTERNAL=/there\n")
            (build / "CTestTestfile.cmake").write_text(
                'add_test([=[m]=] "/there/build/bin/m")\n'
                'set_tests_properties([=[m]=] PROPERTIES  ENVIRONMENT "A=1" TIMEOUT "9" _BACKTRACE_TRIPLES "/there/x;1")\n'
                'add_test(m.cuda "/there/build/bin/m" "-x" "a b")\n'
                'set_tests_properties(m.cuda PROPERTIES  ENVIRONMENT "A=2;B=/there/data" LABELS "gpu;slow" TIMEOUT "9")\n')
            (test,) = gpu_test.find_tests(build)
        self.assertEqual(test["name"], "m.cuda")
        self.assertEqual(test["command"], [f"{folder}/bin/m", "-x", "a b"])
        self.assertEqual(test["environment"], {"A": "2", "B": f"{gpu_test.ROOT}/data"})
        self.assertEqual(test["timeout"], 9)


class Judging(unittest.TestCase):
    def record(self, **changes):
        clean = {"programs": list(gpu_test.MEMCHECKED), "errors": 0, "with_errors": [], "unfinished": []}
        shapes = {name: self.shape(compiled_for=architecture or "90-real") for name, (_, architecture) in gpu_test.SHAPES.items()}
        return {"hash": "h", "files": {"a.c": "1", "b.c": "2"}, "device": "GPU", "date": "2026-01-02T03:04:05Z", "shapes": shapes,
                "sanitizer": {"memcheck": clean}, **changes}

    @staticmethod
    def shape(failed=0, compiled_for="90-real"):
        return {"cases": {"run": 3, "passed": 2 - failed, "failed": failed, "skipped": 1}, "compiled_for": compiled_for}

    def says(self, good, words, record, whole="h"):
        found, sentence = gpu_test.judge(record, whole, {"a.c": "1", "b.c": "3"})
        self.assertEqual((found, words in sentence), (good, True), sentence)

    def test_a_clean_record_of_these_sources_is_good(self):
        self.says(True, f"memcheck of {len(gpu_test.MEMCHECKED)} programs", self.record())

    def test_no_record_or_one_of_other_sources_is_not(self):
        self.says(False, "no record", None)
        self.says(False, "changed since: b.c", self.record(), whole="other")

    def test_failures_are_not_good(self):
        for name in gpu_test.SHAPES:
            self.says(False, "with failures", self.record(shapes={**self.record()["shapes"], name: self.shape(failed=1)}))
        for fault in ({"errors": 1, "unfinished": []}, {"errors": 0, "unfinished": ["core.cuda"]}):
            self.says(False, "with failures", self.record(sanitizer={"memcheck": {"programs": gpu_test.MEMCHECKED, **fault}}))

    def test_every_shape_of_device_has_to_be_there_compiled_for_it(self):
        for name, (_, architecture) in gpu_test.SHAPES.items():
            shapes = self.record()["shapes"]
            del shapes[name]
            self.says(False, f"without devices of compute capability {name}", self.record(shapes=shapes))
            if architecture:
                self.says(False, "compiled for 90-real, not 80-virtual", self.record(shapes={**shapes, name: self.shape()}))

    def test_shapes_are_added_to_a_record_of_the_same_sources_and_device(self):
        same = {"hash": "h", "device": "d", "driver": "1", "cuda": "13", "programs": 3}
        first = {**same, "shapes": {"9.0": 1, "8.0": 2}, "missing": ["a"], "sanitizer": {"memcheck": 1}}
        second = {**same, "shapes": {"8.0": 3, "8.6": 4}, "missing": ["b"], "sanitizer": {}}
        both = {**same, "shapes": {"9.0": 1, "8.0": 3, "8.6": 4}, "missing": ["a", "b"], "sanitizer": {"memcheck": 1}}
        self.assertEqual(gpu_test.added(first, second), both)
        self.assertEqual(gpu_test.added(None, second), second)
        for key in same:
            self.assertEqual(gpu_test.added({**first, key: "other"}, second), second)

    def test_a_shape_tells_the_tests_and_takes_its_library(self):
        test = {"name": "a.cuda", "environment": {"A": "1"}}
        small, whole = (gpu_test.in_shape(test, shape, pathlib.Path("/ptx")) for shape in ("8.6", "9.0"))
        self.assertEqual(small["environment"], {"A": "1", "TRINE_TEST_SHAPE": "8.6:99", "TRINE_TEST_ROWS": "200000"})
        self.assertEqual((small["library"], "library" in whole, whole["environment"]["TRINE_TEST_SHAPE"]), (pathlib.Path("/ptx"), False, ""))
        self.assertTrue(gpu_test.environment(pathlib.Path("/build"), small)["LD_LIBRARY_PATH"].startswith("/ptx/lib:/build/lib:"))

    def test_memory_has_to_be_checked(self):
        self.says(False, "without memcheck", self.record(sanitizer={}))
        some = {"programs": gpu_test.MEMCHECKED[1:], "errors": 0, "unfinished": []}
        self.says(False, f"without memcheck of {gpu_test.MEMCHECKED[0]}", self.record(sanitizer={"memcheck": some}))
        registered = (gpu_test.ROOT / "tests/CMakeLists.txt").read_text()
        for name in gpu_test.MEMCHECKED:
            self.assertRegex(registered, rf"trine_test\({name.removesuffix('.cuda')} (DEVICES|GPU_ONLY)")


if __name__ == "__main__":
    unittest.main()
