"""Tests of tools/gpu-test: what counts as a change of the sources, what a test program's output says, which records are good, and what is run.

    test_gpu_record.py [NM BUILD]       BUILD: a tree whose symbols are compared with what programs are said to depend on
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
NM, BUILD = (sys.argv[1:3] + ["", ""])[:2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
loader = importlib.machinery.SourceFileLoader("gpu_test", str(ROOT / "tools/gpu-test"))
gpu_test = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_test", loader))
loader.exec_module(gpu_test)
programs, record, sources = gpu_test.programs, gpu_test.record, gpu_test.sources

TEXTS = sources.read()
PRESENT = sources.Sources(TEXTS)


class Case(unittest.TestCase):
    def enter(self, context):
        """A context that ends with the test."""
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()


class StrippingC(unittest.TestCase):
    def same(self, a, b):
        self.assertEqual(sources.strip_c(a), sources.strip_c(b))

    def differ(self, a, b):
        self.assertNotEqual(sources.strip_c(a), sources.strip_c(b))

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
        self.assertEqual(sources.strip_hash("a() # x\n\n# y\nb()  \n"), "a()\nb()")
        self.assertEqual(sources.strip_hash("a() #[[ two\nlines ]] b()"), "a()  b()")

    def test_a_hash_in_a_string_is_none(self):
        self.assertEqual(sources.strip_hash('a("# x") # y'), 'a("# x")')
        self.assertEqual(sources.strip_hash("a = '#' # y"), "a = '#'")
        self.assertEqual(sources.strip_hash('"""doc\n# kept"""\n# not'), '"""doc\n# kept"""')

    def test_indentation_counts(self):
        self.assertNotEqual(sources.strip_hash("if a:\n  b\nc"), sources.strip_hash("if a:\n  b\n  c"))


class CountingCases(unittest.TestCase):
    def test_every_case_counts_once(self):
        output = ("[==========] cpu: Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\nwhy\n[  FAILED  ] b\n"
                  "[ RUN      ] c\n[  SKIPPED ] c\n[==========] cpu: 3 test(s) run.\n[  PASSED  ] 1 test(s).\n"
                  "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] c\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n")
        self.assertEqual(programs.count_cases("x", 1, output), {"x: a": "passed", "x: b": "failed", "x: c": "skipped"})

    def test_a_crash_is_a_failure(self):
        output = "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n"
        self.assertEqual(programs.count_cases("x", -11, output), {"x: a": "passed", "x: b": "failed"})
        self.assertEqual(programs.count_cases("x", -11, ""), {"x": "failed"})
        self.assertEqual(programs.count_cases("x", None, ""), {"x": "failed"})
        self.assertEqual(programs.count_cases("x", 1, "[ RUN      ] a\n[       OK ] a\n"), {"x: a": "passed", "x": "failed"})

    def test_no_device_is_a_skip(self):
        self.assertEqual(programs.count_cases("x", 77, "skipped, no device"), {"x": "skipped"})

    def test_a_program_without_cases_is_one(self):
        self.assertEqual(programs.count_cases("x", 0, "fine"), {"x": "passed"})

    def test_matrices_that_are_not_there_are_named(self):
        output = "[ RUN      ] a\nskipped: no real matrix nos3\n[  SKIPPED ] a\nno recorded system T4_07\n"
        self.assertEqual(programs.matrices_missing(output), {"nos3", "T4_07"})


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
            (test,) = programs.find_tests(build)
        self.assertEqual(test["name"], "m.cuda")
        self.assertEqual(test["command"], [f"{folder}/bin/m", "-x", "a b"])
        self.assertEqual(test["environment"], {"A": "2", "B": f"{ROOT}/data"})
        self.assertEqual(test["timeout"], 9)


class Registrations(unittest.TestCase):
    TEXT = ("a()\nfunction(trine_test name)\n  target_link_libraries(test_${name} x)\nendfunction()\ntrine_test(io LIBRARIES z)\ntrine_test(core DEVICES)\n"
            "  trine_test(stream GPU_ONLY LIBRARIES c)\ntrine_test_shares(support core io\n  stream)\ntarget_link_libraries(test_stream PRIVATE x)\n"
            "target_link_libraries(test_io PRIVATE y)\ntarget_link_libraries(support PUBLIC z)\n")

    def split(self, old="", new=""):
        return sources.split_registrations(self.TEXT.replace(old, new))

    def test_each_program_has_its_own(self):
        shared, own = self.split()
        self.assertEqual(shared, "a()\nfunction(trine_test name)\n  target_link_libraries(test_${name} x)\nendfunction()\n"
                                 "target_link_libraries(support PUBLIC z)")
        self.assertEqual(own, {"core.cuda": "trine_test(core DEVICES)\ntrine_test_shares(support core)",
                               "stream.cuda": "trine_test(stream GPU_ONLY LIBRARIES c)\ntrine_test_shares(support stream)\n"
                                              "target_link_libraries(test_stream PRIVATE x)"})

    def test_programs_for_the_cpu_alone_do_not_count(self):
        self.assertEqual(self.split("io LIBRARIES z", "io LIBRARIES other"), self.split())
        self.assertEqual(self.split("PRIVATE y", "PRIVATE other"), self.split())

    def test_what_is_shared_counts(self):
        self.assertNotEqual(self.split("${name} x", "${name} y")[0], self.split()[0])
        self.assertNotEqual(self.split("a()", "b()")[0], self.split()[0])

    def test_all_programs_of_the_project_are_found(self):
        text = sources.strip_hash(TEXTS[sources.TESTS])
        registered = re.findall(r"trine_test\((\w+)[^)]*\b(?:DEVICES|GPU_ONLY)\b", text)
        self.assertEqual(PRESENT.programs, sorted(f"{name}.cuda" for name in registered))
        self.assertLessEqual(set(programs.MEMCHECKED), set(PRESENT.programs))
        self.assertNotIn("tests/test_io.c", PRESENT.digests)


class Dependencies(unittest.TestCase):
    def stale(self, changes):
        """Programs whose hash is another one when texts of files are changed: path -> (old, new)."""
        texts = dict(TEXTS)
        for path, (old, new) in changes.items():
            self.assertIn(old, texts.get(path, old))
            texts[path] = texts.get(path, "").replace(old, new) if old else texts.get(path, "") + new
        changed = sources.Sources(texts)
        return {name.removesuffix(".cuda") for name in changed.programs
                if name not in PRESENT.programs or changed.hash_of(name, {}) != PRESENT.hash_of(name, {})}

    ALL = {name.removesuffix(".cuda") for name in PRESENT.programs}
    CODE = ("", "\nint one_more;\n")

    def test_a_module_counts_for_all_that_reach_it(self):
        stale = self.stale({"src/forest/cpu/factor.c": self.CODE})
        self.assertLessEqual({"forest", "forest_graphs", "forest_capture", "precond_devices", "precond_capture", "plans", "memory", "abi"}, stale)
        self.assertFalse(stale & {"tridiagonal", "banded", "gtsv_paths", "triangular", "supernodal", "spmv", "krylov", "direct", "matrix", "core", "tridigpu"})
        for path in ("src/forest/cuda/factor.cu", "src/forest/common/order.h", "src/forest/CMakeLists.txt", "src/forest/new.cuh"):
            self.assertEqual(self.stale({path: self.CODE}), stale)

    def test_modules_reach_others_through_others(self):
        stale = self.stale({"src/operator/leaves.c": self.CODE})
        self.assertLessEqual({"operator", "krylov", "spmv", "triangular", "precond_devices", "supernodal", "direct", "tridiagonal"}, stale)
        self.assertFalse(stale & {"core", "matrix"})
        self.assertIn("tridigpu", self.stale({"src/tridiagonal/api.c": self.CODE}))
        self.assertIn("supernodal_growth", self.stale({"src/direct/plan.c": self.CODE}))
        self.assertIn("direct", self.stale({"src/supernodal/plan.c": self.CODE}))
        self.assertEqual(self.stale({"src/krylov/plan.c": self.CODE}) & {"direct", "spmv", "operator"}, set())

    def test_what_all_share_counts_for_all(self):
        for path in ("src/core/plan.c", "src/core/CMakeLists.txt", "src/core/gpu_scalar.cuh", "include/trine/core.h", "cmake/cuda.cmake",
                     "CMakeLists.txt", "tests/CMakeLists.txt", "tests/harness.h", "tests/harness.c", "tests/elements.c"):
            self.assertEqual(self.stale({path: self.CODE}), self.ALL, path)

    def test_a_public_header_counts_for_those_that_name_what_it_declares(self):
        constant = ("", "\n#define TRINE_ONE_MORE 1\n")
        stale = self.stale({"include/trine/forest.h": constant})
        self.assertLessEqual({"forest", "precond_devices", "precond_capture"}, stale)
        self.assertFalse(stale & {"tridiagonal", "triangular", "supernodal", "spmv", "core", "tridigpu"})
        self.assertEqual(self.stale({"include/tridigpu.h": constant}), self.stale({"src/tridiagonal/api.c": self.CODE}))
        self.assertFalse(self.stale({"include/trine/direct.h": constant}) & {"triangular", "krylov", "precond_devices"})
        self.assertIn("operator", self.stale({"include/trine/operator.h": constant}) & self.stale({"include/trine/matrix.h": constant}))

        def named(path, text):
            return "include/trine/krylov.h" in sources.Sources({**TEXTS, path: TEXTS[path] + text}).digests_of("core.cuda")
        self.assertNotIn("include/trine/krylov.h", PRESENT.digests_of("core.cuda"))
        for text in ("trine_krylov_options options;", "int m = TRINE_KRYLOV_CG;", "#define METHOD(name) TRINE_KRYLOV_##name"):
            self.assertTrue(named("tests/test_core.c", f"\n{text}\n") and named("src/core/plan.c", f"\n{text}\n"), text)
        self.assertFalse(named("tests/test_core.c", "\n/* trine_krylov_options */\n"))
        self.assertFalse(named("include/trine/core.h", "\nTRINE_API trine_status trine_krylov_create(trine_krylov_options options);\n"))
        self.assertTrue(named("include/trine/matrix.h", "\nstatic inline int f(trine_krylov_options *options);\n"))  # and core uses matrix.h

    def test_a_declaration_counts_by_its_definition(self):
        declaration = {"include/trine/matrix.h": ("", "\nTRINE_API trine_status trine_one_more(int n);\n")}
        self.assertEqual(self.stale(declaration), self.ALL)  # of which nothing is known
        self.assertFalse(self.stale({**declaration, "src/krylov/plan.c": ("", "\ntrine_status trine_one_more(int n)\n{\n}\n")}) & {"core", "spmv", "matrix"})

    def test_a_function_used_counts_without_an_include(self):
        use = ("", "\nvoid f(trine_context c) { trine_krylov_looks(c); }\n")
        forest = {"src/forest/cpu/factor.c": self.CODE}
        krylov = {"src/krylov/plan.c": self.CODE}
        self.assertNotIn("core", self.stale(krylov))

        def reached(path, text):
            return sources.Sources({**TEXTS, path: TEXTS[path] + text}).modules_of("core.cuda")
        self.assertNotIn("krylov", PRESENT.modules_of("core.cuda"))
        self.assertIn("krylov", reached("tests/test_core.c", use[1]))
        self.assertIn("krylov", reached("src/matrix/check.c", use[1]))
        self.assertIn("krylov", reached("src/core/plan.c", use[1]))
        self.assertIn("krylov", reached("include/trine/core.h", use[1].replace("\nvoid", "\nstatic inline void")))
        self.assertIn("krylov", reached("include/trine/core.h", "\n#define LOOKS(c) trine_krylov_looks(c)\n"))
        self.assertIn("krylov", reached("tests/test_core.c", '\n#include "krylov/common/numbers.h"\n'))
        self.assertIn("tridiagonal", reached("tests/test_core.c", "\n#include <tridigpu.h>\n"))
        self.assertIn("tridiagonal", reached("tests/test_core.c", "\nf(FN(trine_tridiagonal_reference));\n"))
        self.assertIn("krylov", reached("tests/test_core.c", "\n#define LOOK(what) trine_krylov_##what\n"))
        self.assertNotIn("krylov", reached("tests/test_core.c", "\n/* trine_krylov_looks */\n"))
        self.assertNotIn("krylov", reached("tests/test_core.c", '\n#include "core/test_interface.h"\n'))
        self.assertNotEqual(self.stale(forest), self.stale(krylov))

    def test_tests_count_for_themselves(self):
        self.assertEqual(self.stale({"tests/test_spmv.c": self.CODE}), {"spmv"})
        self.assertEqual(self.stale({"tests/spmv_support.c": self.CODE}), {"spmv", "spmv_plan", "semiring"})
        self.assertEqual(self.stale({"tests/tridigpu_program.inc": self.CODE}), {"tridigpu", "tridigpu_cxx"})
        self.assertEqual(self.stale({"tests/test_tridigpu.c": self.CODE}), {"tridigpu", "tridigpu_cxx"})
        self.assertEqual(self.stale({"tests/foreign_superlu.inc": self.CODE}), {"direct_taken"})
        for path in ("tests/test_io.c", "tests/io_support.c", "tests/emulator/new.h", "tests/test_new.c"):
            self.assertEqual(self.stale({path: self.CODE}), set(), path)

    def test_registrations_count_for_their_programs(self):
        self.assertEqual(self.stale({sources.TESTS: ("trine_test(core DEVICES)", "trine_test(core DEVICES LIBRARIES z)")}), {"core"})
        self.assertEqual(self.stale({sources.TESTS: ("trine_test(io ", "trine_test(io LIBRARIES more ")}), set())
        self.assertEqual(self.stale({sources.TESTS: ("", "trine_test(new DEVICES)\n"), "tests/test_new.c": self.CODE}), {"new"})

    def test_comments_count_for_nothing(self):
        for path in ("src/core/plan.c", "include/trine/core.h", "tests/harness.c", "src/forest/cuda/factor.cu"):
            self.assertEqual(self.stale({path: ("", "\n/* more */ // words\n\n")}), set())
        for path in ("CMakeLists.txt", "cmake/cuda.cmake", sources.TESTS, "src/core/CMakeLists.txt"):
            self.assertEqual(self.stale({path: ("", "\n# more words\n")}), set())

    def test_folders_that_no_program_is_made_of_do_not_count(self):
        self.assertEqual(self.stale({"CMakeLists.txt": ("", "\nif(TRINE_TOOLS)\n  add_subdirectory(more)\nendif()\n")}), self.ALL)
        self.assertEqual(self.stale({"CMakeLists.txt": ("  add_subdirectory(bench)\n", "  add_subdirectory(bench)\n  add_subdirectory(more)\n")}), set())
        self.assertEqual(self.stale({"CMakeLists.txt": ("add_subdirectory(src/spmv)\n", "")}), self.ALL)

    def test_a_file_that_is_gone_counts(self):
        texts = {path: text for path, text in TEXTS.items() if path != "src/forest/reference/reference.c"}
        self.assertNotEqual(sources.Sources(texts).hash_of("forest.cuda", {}), PRESENT.hash_of("forest.cuda", {}))
        texts["src/forest/reference/referencf.c"] = TEXTS["src/forest/reference/reference.c"]
        self.assertNotEqual(sources.Sources(texts).hash_of("forest.cuda", {}), PRESENT.hash_of("forest.cuda", {}))

    def test_the_environment_counts(self):
        self.assertEqual(len({PRESENT.hash_of("core.cuda", programs.setting(way)) for way in (*programs.SHAPES, "racecheck")}), 4)

    def test_hashes_of_libraries_and_of_all(self):
        def hashes(path):
            changed = sources.Sources({**TEXTS, path: TEXTS[path] + self.CODE[1]})
            return changed.library() != PRESENT.library(), changed.whole() != PRESENT.whole()
        for path, expected in (("src/forest/cpu/factor.c", (True, True)), ("include/trine/core.h", (True, True)), ("CMakeLists.txt", (True, True)),
                               ("tests/harness.c", (False, True)), ("tests/test_core.c", (False, True)), ("tests/test_io.c", (False, False))):
            self.assertEqual(hashes(path), expected, path)


class Proof(unittest.TestCase):
    """What the rules of tools/gputest/sources.py rest on."""

    def test_every_function_that_modules_share_is_defined_by_one(self):
        self.assertEqual(PRESENT.undefined, set())
        self.assertEqual({name: found for name, found in PRESENT.definers.items() if len(found) != 1}, {})
        self.assertEqual({name for path, names in PRESENT.public.items() for name in names if not PRESENT.headers_of.get(name)}
                         - {name for path in sources.PUBLIC_CORE for name in sources.names_in(PRESENT.code[path])[0]}, set())
        for header in (path for path in TEXTS if path.startswith("include/")):
            declared = set(sources.DECLARED.findall(PRESENT.code[header]))
            self.assertTrue(declared <= PRESENT.definers.keys() and (declared or header in ("include/trine/trine.h", "include/tridigpu.h")), header)
            text = re.sub(r"^#define (?:.*\\\n)*.*", "", PRESENT.code[header], flags=re.MULTILINE)
            self.assertEqual(len(declared), text.count("TRINE_API "), header)

    def test_programs_linked_with_the_second_library_reach_it(self):
        _, own = sources.split_registrations(sources.strip_hash(TEXTS[sources.TESTS]))
        linked = {name for name, text in own.items() if "trine_direct" in text}
        self.assertIn("direct.cuda", linked)
        self.assertEqual({name for name in linked if "direct" not in PRESENT.modules_of(name)}, set())

    def test_headers_apart_have_a_module(self):
        self.assertEqual(PRESENT.apart, {"trine/direct.h": {"direct"}, "tridigpu.h": {"tridiagonal"}})

    def test_the_core_reaches_no_module(self):
        self.assertLessEqual(PRESENT.reached(PRESENT.common), {"core"})

    def test_cmake_files_of_modules_are_about_their_own_files(self):
        for module in PRESENT.modules:
            text = sources.strip_hash(TEXTS[f"src/{module}/CMakeLists.txt"])
            shared = re.findall(r"\b((?:target_(?!sources)\w+|set_target_properties)\(trine\b|add_compile\w+|add_link\w+|add_definitions|include_directories|link_\w+)", text)
            self.assertTrue(not shared or module == "core", (module, shared))

    def test_shared_test_sources_are_found(self):
        for words in re.findall(r"trine_test_shares\(([^)]*)\)", TEXTS[sources.TESTS]):
            support, *names = words.split()
            for name in names:
                if f"{name}.cuda" in PRESENT.programs:
                    self.assertIn(f"tests/{support}.c", PRESENT.own_files(f"{name}.cuda"))

    @unittest.skipUnless(BUILD, "no build tree")
    def test_symbols_of_the_build_agree(self):
        """Who uses a symbol of a module, or of a shared test source, depends on it."""
        source_of = {}  # of an object
        for path in pathlib.Path(BUILD).glob("**/CMakeFiles/*.dir/**/*.o"):
            folder, _, name = path.relative_to(BUILD).as_posix().partition("CMakeFiles/")
            source = folder + name.split(".dir/", 1)[1].removesuffix(".o")
            if source in TEXTS and source.startswith(("src/", "tests/")):
                source_of[str(path)] = source
        self.assertGreaterEqual(set(map(sources.module_of, source_of.values())), PRESENT.modules.keys() - {"direct"})
        defined, used = {}, {}
        for line in subprocess.run([NM, "-A", "-g", *source_of], check=True, capture_output=True, text=True).stdout.splitlines():
            source, (kind, name) = source_of[line.partition(":")[0]], line.split()[-2:]
            if kind == "U":
                used.setdefault(source, set()).add(name)
            elif kind not in "wvWV" and not source.startswith("tests/test_"):  # not what every user has a copy of
                defined.setdefault(name, set()).add(source)
        seen = 0
        for source, names in used.items():
            if module := sources.module_of(source):
                modules = {sources.module_of(other) for name in names for other in defined.get(name, ())} - {None, module, "core"}
                self.assertLessEqual(modules, PRESENT.uses[module], source)
                seen += len(modules)
        for program in PRESENT.programs:
            files, modules = PRESENT.own_files(program), PRESENT.modules_of(program)
            for source in files & used.keys():
                for name in used[source] & defined.keys():
                    self.assertTrue(any(other in files or sources.module_of(other) in modules for other in defined[name]), f"{program}: {source} uses {name}")
                    seen += 1
        self.assertGreater(seen, 300)


class Judging(Case):
    """Records of two programs, of which one is checked for memory errors."""

    @classmethod
    def setUpClass(cls):
        texts = dict(TEXTS)
        texts[sources.TESTS] = "trine_test(core DEVICES)\ntrine_test(forest DEVICES)\n"
        cls.texts, cls.sources = texts, sources.Sources(texts)

    def setUp(self):
        self.enter(mock.patch.object(record, "MEMCHECKED", ["core.cuda"]))
        self.record = record.begin(None, "GPU", "13.0", False)
        for name, way in record.wanted(self.sources):
            self.put(name, way)

    def put(self, name, way, present=None, **changes):
        entry = {"date": "2026-01-02T03:04:05Z", "driver": "1", "seconds": 2}
        if way in programs.SHAPES:
            entry |= {"passed": 2, "failed": [], "skipped": [f"{name}: x"], "missing": [], "compiled_for": programs.SHAPES[way][1] or "90-real", "flags": ""}
        else:
            entry |= {"errors": 0, "unfinished": False}
        record.put(self.record, present or self.sources, name, way, {**entry, **changes})

    def changed(self, path, text="\nint one_more;\n"):
        return sources.Sources({**self.texts, path: self.texts.get(path, "") + text})

    def says(self, good, words, present=None):
        found, sentence = record.judge(self.record, present or self.sources)
        self.assertEqual((found, words in sentence), (good, True), sentence)

    def test_a_clean_record_of_these_sources_is_good(self):
        self.says(True, "current as 9.0, 8.0, 8.6 (GPU, CUDA 13.0, 2026-01-02: 12 cases passed, 0 failed, 6 skipped; memcheck of 1 programs clean)")

    def test_none_or_one_of_another_format_is_not(self):
        self.assertEqual(record.judge(None, self.sources), (False, "there is no record"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record.json"
            self.assertIsNone(record.load(path))
            path.write_text('{"hash": "x", "shapes": {}}')
            self.assertEqual(record.judge(record.load(path), self.sources), (False, "stale, of an older format"))
            self.assertEqual(record.begin(record.load(path), "GPU", "13.0", True)["programs"], {})

    def test_what_changed_is_named(self):
        self.says(False, "stale: forest (9.0, 8.0, 8.6); changed: src/forest/cpu/factor.c (", self.changed("src/forest/cpu/factor.c"))
        self.says(False, "stale: all programs (9.0, 8.0, 8.6); core (memcheck); changed: src/core/plan.c (", self.changed("src/core/plan.c"))
        self.says(True, "current", self.changed("src/triangular/plan.c"))
        self.says(True, "current", self.changed("src/core/plan.c", "\n/* words */\n"))
        texts = {path: text for path, text in self.texts.items() if path != "src/forest/common/order.h"}
        self.says(False, "changed: src/forest/common/order.h (", sources.Sources(texts))

    def test_entries_may_be_of_several_states_of_the_sources(self):
        after = self.changed("src/forest/cpu/factor.c")
        for way in ("9.0", "8.0"):
            self.put("forest.cuda", way, after)
        self.says(False, "stale: forest (8.6); changed: src/forest/cpu/factor.c (", after)
        self.assertEqual(len(self.record["sources"]), 2)
        self.put("forest.cuda", "8.6", after)
        self.says(True, "current", after)
        for name, way in record.wanted(after):
            self.put(name, way, after)
        self.assertEqual(list(self.record["sources"]), [after.whole()])  # those without an entry are dropped

    def test_a_new_program_is_missing_and_an_old_one_dropped(self):
        more = sources.Sources({**self.texts, sources.TESTS: self.texts[sources.TESTS] + "trine_test(spmv DEVICES)\n"})
        self.says(False, "not run: spmv (9.0, 8.0, 8.6) (", more)
        fewer = sources.Sources({**self.texts, sources.TESTS: "trine_test(core DEVICES)\n"})
        self.says(True, "6 cases passed", fewer)
        self.put("core.cuda", "9.0", fewer)
        self.assertEqual(list(self.record["programs"]), ["core.cuda"])

    def test_failures_are_not_good(self):
        for way in programs.SHAPES:
            self.put("forest.cuda", way, failed=["forest.cuda: a"])
            self.says(False, f"failed: forest ({way}) (")
            self.put("forest.cuda", way)
        for fault in ({"errors": 1}, {"unfinished": True}):
            self.put("core.cuda", "memcheck", **fault)
            self.says(False, "failed: core (memcheck) (")
        self.put("core.cuda", "memcheck")
        self.put("forest.cuda", "racecheck", errors=1)  # nobody asks for it, but it is known
        self.says(False, "failed: forest (racecheck) (")
        self.put("forest.cuda", "racecheck")
        self.says(True, "racecheck of 1 programs")

    def test_every_way_has_to_be_there(self):
        for name, way in record.wanted(self.sources):
            entry = self.record["programs"][name].pop(way)
            self.says(False, f"not run: {name.removesuffix('.cuda')} ({way}) (")
            self.record["programs"][name][way] = entry

    def test_shapes_have_to_be_compiled_for(self):
        for way, (_, architecture) in programs.SHAPES.items():
            self.put("core.cuda", way, compiled_for="75-real")
            self.says(not architecture, f"compiled for another device: core ({way}) (" if architecture else "current")
            self.put("core.cuda", way)

    def test_devices_are_not_mixed(self):
        self.assertIs(record.begin(self.record, "GPU", "13.0", True), self.record)
        for device, cuda in (("other", "13.0"), ("GPU", "13.1")):
            with self.assertRaises(record.OtherDevice):
                record.begin(self.record, device, cuda, True)
            self.assertEqual(record.begin(self.record, device, cuda, False)["programs"], {})

    def test_a_record_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gpu/record.json"
            record.save(self.record, path)
            self.assertEqual(record.load(path), self.record)
            self.assertEqual([other.name for other in path.parent.iterdir()], ["record.json"])
            self.assertEqual(sum('"9.0": {"hash"' in line for line in path.read_text().split("\n")), 2)  # an entry a line

    def test_seconds_are_of_all_parts(self):
        self.put("core.cuda", "8.0", seconds=7, parts=3)
        self.assertEqual([record.seconds(self.record, "core.cuda", way) for way in ("9.0", "8.0")], [2, 21])

    def test_seconds_of_other_shapes_are_a_guess(self):
        self.put("core.cuda", "8.0", seconds=7)
        self.assertEqual([record.seconds(self.record, "core.cuda", way) for way in ("9.0", "8.0", "memcheck")], [2, 7, 2])
        del self.record["programs"]["core.cuda"]["9.0"], self.record["programs"]["core.cuda"]["memcheck"]
        self.assertEqual([record.seconds(self.record, "core.cuda", way) for way in ("9.0", "memcheck")], [7, None])
        self.assertIsNone(record.seconds(None, "core.cuda", "9.0"))


class Settings(unittest.TestCase):
    def test_a_shape_tells_the_tests_and_takes_its_library(self):
        test = {"name": "a.cuda", "environment": {"A": "1"}, "timeout": 9}
        (small,), (whole,) = (programs.runs_of(test, way, pathlib.Path("/build"), pathlib.Path("/ptx")) for way in ("8.6", "9.0"))
        self.assertEqual(small["environment"], {"A": "1", "TRINE_TEST_SHAPE": "8.6:99", "TRINE_TEST_ROWS": "200000", "TRINE_TEST_PART": ""})
        self.assertEqual(whole["environment"], {"A": "1", "TRINE_TEST_SHAPE": "", "TRINE_TEST_PART": ""})
        self.assertTrue(programs.environment(small)["LD_LIBRARY_PATH"].startswith("/ptx/lib:/build/lib:"))
        self.assertTrue(programs.environment(whole)["LD_LIBRARY_PATH"].startswith("/build/lib:/build/lib:"))

    def test_long_programs_run_in_parts_under_a_tool(self):
        test = {"name": "banded.cuda", "environment": {}, "timeout": 9}
        runs = programs.runs_of(test, "memcheck", pathlib.Path("/build"), None)
        self.assertEqual([run["environment"]["TRINE_TEST_PART"] for run in runs], [f"{k}/12" for k in range(1, 13)])
        self.assertEqual([run["prefix"][:3] for run in runs[:1]], [["compute-sanitizer", "--tool", "memcheck"]])
        clean, faulty = (0, "ERROR SUMMARY: 0 errors"), (99, "ERROR SUMMARY: 3 errors")
        self.assertEqual(programs.outcome_of(runs[0], [clean, faulty]), {"errors": 3, "unfinished": False})
        self.assertEqual(programs.outcome_of(runs[0], [clean, (None, "")]), {"errors": 0, "unfinished": True})
        self.assertEqual(programs.outcome_of(runs[0], [clean, (1, "it crashed")]), {"errors": 0, "unfinished": True})

    def test_long_programs_run_in_parts_in_a_shape(self):
        test, build = {"name": "banded.cuda", "environment": {}, "timeout": 9}, pathlib.Path("/build")
        with mock.patch.object(programs, "cache_entry", lambda *_: ""):
            for way, library in (("9.0", "/build"), ("8.6", "/ptx")):
                runs = programs.runs_of(test, way, build, pathlib.Path("/ptx"))
                self.assertEqual([(run["part"], run["environment"]["TRINE_TEST_PART"]) for run in runs], [(f"{k}/12", f"{k}/12") for k in range(1, 13)])
                self.assertEqual({(str(run["library"]), run["timeout"]) for run in runs}, {(library, 9)})
            good, bad = (0, PASSES), (1, FAILS)
            skipped = (0, "[ RUN      ] a\nskipped: no real matrix nos3\n[  SKIPPED ] a\n")
            for results, expected in (([good, good], (1, [], [])), ([good, bad], (0, ["banded.cuda: a"], [])), ([bad, good], (0, ["banded.cuda: a"], [])),
                                      ([good, skipped], (0, [], ["banded.cuda: a"])), ([skipped, bad], (0, ["banded.cuda: a"], [])),
                                      ([good, (None, PASSES)], (1, ["banded.cuda"], [])), ([good, (-11, "")], (1, ["banded.cuda"], []))):
                outcome = programs.outcome_of(runs[0], results)
                self.assertEqual((outcome["passed"], outcome["failed"], outcome["skipped"]), expected)
                self.assertEqual(outcome["missing"], ["nos3"] if skipped in results else [])


PASSES = "[ RUN      ] a\n[       OK ] a\n"
FAILS = "[ RUN      ] a\n[  FAILED  ] a\n"


class Running(Case):
    """The whole tool on a machine that has a GPU, as far as it can see: programs are shell commands."""

    def setUp(self):
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.path, self.log = self.folder / "record.json", self.folder / "log"
        self.device = self.program("nvidia-smi", 'case $1 in -L) echo one;; *) echo "GPU, 1.0, 9.0";; esac')
        self.program("compute-sanitizer",
                     'while [ "$1" != /bin/sh ]; do shift; done; export TOOL=tool; "$@"; code=$?; echo "ERROR SUMMARY: 0 errors"; exit $code')
        self.enter(mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}))
        for module, name, value in ((gpu_test, "RECORD", self.path), (record, "MEMCHECKED", ["core.cuda"]), (gpu_test, "MEMCHECKED", ["core.cuda"])):
            self.enter(mock.patch.object(module, name, value))
        self.texts = {**TEXTS, sources.TESTS: "trine_test(core DEVICES)\ntrine_test(forest DEVICES)\n"}
        for tree, architecture in (("build", "90-real"), ("ptx", "80-virtual")):
            (self.folder / tree / "lib").mkdir(parents=True)
            (self.folder / tree / "lib/libtrine.so").touch()
            (self.folder / tree / "CMakeCache.txt").write_text(f"CMAKE_CUDA_ARCHITECTURES:STRING={architecture}\nCMAKE_CUDA_FLAGS:STRING=\n")
        self.cuda("13.0")
        self.commands = {"core.cuda": f"printf '{PASSES}'", "forest.cuda": f"printf '{PASSES}'"}

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def cuda(self, version):
        (self.folder / "build/CMakeFiles/4").mkdir(parents=True, exist_ok=True)
        (self.folder / "build/CMakeFiles/4/CMakeCUDACompiler.cmake").write_text(f'set(CMAKE_CUDA_COMPILER_VERSION "{version}")\n')

    def run_tool(self, *arguments, timeout=600):
        """Exit code or message; which programs ran how."""
        tests = "".join(f'add_test([=[{name}]=] "/bin/sh" "-c" [=[echo {name} $TOOL $TRINE_TEST_SHAPE $TRINE_TEST_PART >> {self.log}; {command}]=])\n'
                        f'set_tests_properties([=[{name}]=] PROPERTIES LABELS "gpu" TIMEOUT "{timeout}")\n' for name, command in self.commands.items())
        (self.folder / "build/CTestTestfile.cmake").write_text(tests)
        self.log.write_text("")
        words = ["gpu-test", "--build-dir", str(self.folder / "build"), "--ptx-dir", str(self.folder / "ptx"), "--jobs", "2", *arguments]
        self.output = io.StringIO()
        with mock.patch.object(sys, "argv", words), mock.patch.object(sources, "read", lambda: self.texts), contextlib.redirect_stdout(self.output):
            try:
                code = gpu_test.main()
            except SystemExit as end:
                code = end.code
        return code, sorted(self.log.read_text().split("\n")[:-1])

    def entries(self):
        found = json.loads(self.path.read_text())["programs"]
        return {name: sorted(ways) for name, ways in found.items()}

    CORE, FOREST = (sorted([f"{name}.cuda", f"{name}.cuda 8.0:163", f"{name}.cuda 8.6:99"]) for name in ("core", "forest"))
    EVERYTHING = sorted([*CORE, *FOREST, "core.cuda tool"])

    def test_everything_runs_then_nothing(self):
        self.assertEqual(self.run_tool(), (0, self.EVERYTHING))
        self.assertIn("record.json: current as 9.0, 8.0, 8.6 (GPU, CUDA 13.0", self.output.getvalue())
        self.assertEqual(self.entries(), {"core.cuda": ["8.0", "8.6", "9.0", "memcheck"], "forest.cuda": ["8.0", "8.6", "9.0"]})
        self.assertEqual(self.run_tool("--add"), (0, []))
        self.assertEqual(self.run_tool(), (0, self.EVERYTHING))

    def test_only_stale_programs_are_added(self):
        self.run_tool()
        self.texts["src/forest/cpu/factor.c"] += "int one_more;\n"
        self.assertEqual(self.run_tool("--add", "--shapes", "8.0"), (0, ["forest.cuda 8.0:163"]))
        self.assertIn("stale: forest (9.0, 8.6)", self.output.getvalue())
        self.assertEqual(self.run_tool("--add", "--only", "core"), (0, []))
        self.assertEqual(self.run_tool("--add", "--only", "forest"), (0, ["forest.cuda", "forest.cuda 8.6:99"]))
        self.assertIn("record.json: current", self.output.getvalue())

    def test_a_failed_program_runs_again(self):
        self.commands["forest.cuda"] = f"printf '{FAILS}'; exit 1"
        self.assertEqual(self.run_tool(), (1, self.EVERYTHING))
        self.assertIn("failed: forest (9.0, 8.0, 8.6)", self.output.getvalue())
        self.commands["forest.cuda"] = f"printf '{PASSES}'"
        self.assertEqual(self.run_tool("--add"), (0, self.FOREST))
        self.assertIn("record.json: current", self.output.getvalue())

    def test_a_part_of_the_tests_leaves_the_record_alone(self):
        for words in (["--only", "core"], ["--shapes", "9.0"]):
            self.assertEqual(self.run_tool(*words)[0], 0)
            self.assertFalse(self.path.exists())
        self.assertEqual(self.run_tool("--only", "core", "--sanitize")[1], sorted([*self.CORE, "core.cuda tool"]))

    def test_what_ran_is_kept_when_the_tool_is_ended(self):
        self.commands["forest.cuda"] = "sleep 100"

        def interrupt():
            while not self.path.exists():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)
        before, start = signal.getsignal(signal.SIGTERM), time.monotonic()
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        threading.Thread(target=interrupt).start()
        self.assertEqual(self.run_tool("--shapes", "9.0", "--add")[0], 0)
        self.assertLess(time.monotonic() - start, 90)
        self.assertEqual(self.entries(), {"core.cuda": ["9.0"]})
        self.assertIn("not run, for want of time or of a device: forest.cuda (9.0), core.cuda (memcheck)", self.output.getvalue())
        self.commands["forest.cuda"] = f"printf '{PASSES}'"
        self.assertEqual(self.run_tool("--add")[1], sorted([*self.FOREST, *self.CORE[1:], "core.cuda tool"]))
        self.assertIn("record.json: current", self.output.getvalue())

    def test_a_program_is_ended_at_the_limit_without_an_outcome(self):
        run = {"name": "a", "command": ["/bin/sh", "-c", "echo begun; sleep 100"], "prefix": [], "folder": self.folder, "environment": {}, "build": self.folder,
               "library": self.folder, "expected": None, "timeout": 600}
        start = time.monotonic()
        self.assertIsNone(programs.execute(run, programs.Deadline(0.5)))
        self.assertIsNone(programs.execute({**run, "expected": 60}, programs.Deadline(50)))  # not started
        with mock.patch.object(programs.subprocess, "Popen") as started:
            self.assertIsNone(programs.execute(run, programs.Deadline(0)))
            self.assertIsNone(programs.Deadline(0).begin(run["command"]))
        started.assert_not_called()
        self.assertEqual(programs.execute({**run, "timeout": 1}, programs.Deadline(600)), (None, "begun\n"))
        self.assertEqual(programs.execute({**run, "command": ["/bin/sh", "-c", "kill -9 $$"]}, programs.Deadline(600)), (-9, ""))
        self.assertLess(time.monotonic() - start, 45)

    def test_no_program_is_started_that_would_not_end(self):
        self.run_tool()
        whole = json.loads(self.path.read_text())
        whole["programs"]["forest.cuda"]["8.6"]["seconds"] = 1000
        self.path.write_text(json.dumps(whole))
        self.texts["src/forest/cpu/factor.c"] += "int one_more;\n"
        self.assertEqual(self.run_tool("--add", "--limit", "500"), (0, ["forest.cuda", "forest.cuda 8.0:163"]))
        self.assertIn("stale: forest (8.6)", self.output.getvalue())

    def test_the_longest_programs_begin(self):
        self.run_tool()
        whole = json.loads(self.path.read_text())
        for way, seconds in (("9.0", 3), ("8.0", 9), ("8.6", 5)):
            whole["programs"]["forest.cuda"][way]["seconds"] = seconds
        self.path.write_text(json.dumps(whole))
        with mock.patch.object(programs, "execute", lambda run, deadline: order.append(f"{run['name']} {run['way']}") or (0, PASSES)):
            order = []
            self.run_tool("--jobs", "1")
        self.assertEqual(order[:3], ["forest.cuda 8.0", "forest.cuda 8.6", "forest.cuda 9.0"])

    def test_a_program_that_hangs_has_failed(self):
        self.commands["forest.cuda"] = "sleep 100"
        self.assertEqual(self.run_tool("--shapes", "9.0", "--add", "--only", "forest", timeout=1)[0], 1)
        self.assertIn("failed: forest (9.0)", self.output.getvalue())

    def test_entries_of_two_devices_are_refused(self):
        self.run_tool()
        before = self.path.read_text()
        self.program("nvidia-smi", 'case $1 in -L) echo one;; *) echo "Other, 1.0, 8.0";; esac')
        code, ran = self.run_tool("--add")
        self.assertEqual((code, ran), ("gpu-test: the record is of GPU with CUDA 13.0, this is Other with CUDA 13.0: without --add a new one begins", []))
        self.assertEqual(self.path.read_text(), before)
        self.assertEqual(self.run_tool()[0], 0)
        self.assertEqual(json.loads(self.path.read_text())["device"], "Other")
        self.cuda("13.1")
        self.assertIn("13.1", self.run_tool("--add")[0])

    def test_a_program_without_a_device_is_no_outcome(self):
        self.commands["forest.cuda"] = "exit 77"
        self.assertEqual(self.run_tool()[0], 0)
        self.assertNotIn("forest.cuda", self.entries())
        self.commands["core.cuda"] = "exit 77"
        self.path.unlink()
        self.assertEqual(self.run_tool()[0], "gpu-test: no GPU test ran; no record written")
        self.assertFalse(self.path.exists())

    def control(self, text):
        """nvidia-cuda-mps-control: what it is asked for goes into the log, as what programs ask does."""
        self.program("nvidia-cuda-mps-control", f'[ "$1" = -d ] && asked=begin || asked=$(cat)\necho "control $asked" >> {self.log}\n{text}')

    def test_programs_share_the_device(self):
        self.commands = {name: f"{command}; [ -d \"$CUDA_MPS_PIPE_DIRECTORY\" ] && echo {name} shared >> {self.log}; true" for name, command in self.commands.items()}
        self.control("exit 0")
        code, ran = self.run_tool("--share")
        self.assertEqual(code, 0)
        self.assertEqual(ran.count("core.cuda shared"), 3)  # not under a tool
        self.assertEqual(ran.count("forest.cuda shared"), 3)
        self.assertEqual(sorted(set(ran)), sorted({*self.EVERYTHING, "core.cuda shared", "forest.cuda shared", "control begin", "control quit -t 5"}))
        found = json.loads(self.path.read_text())["programs"]["core.cuda"]
        self.assertEqual({way for way, entry in found.items() if entry.get("shared")}, {"9.0", "8.0", "8.6"})
        self.assertIn("record.json: current", self.output.getvalue())

    def test_sharing_that_does_not_begin_is_said(self):
        self.control("exit 1")
        self.assertEqual(self.run_tool("--share"), (0, sorted([*self.EVERYTHING, "control begin"])))
        self.assertIn("ends with code 1: programs take turns", self.output.getvalue())
        (self.folder / "nvidia-cuda-mps-control").unlink()
        self.assertEqual(self.run_tool("--share"), (0, self.EVERYTHING))
        self.assertIn("there is no nvidia-cuda-mps-control: programs take turns", self.output.getvalue())

    def test_what_finds_no_shared_device_runs_alone(self):
        self.control("exit 0")
        self.commands["forest.cuda"] = f"[ -d \"$CUDA_MPS_PIPE_DIRECTORY\" ] && exit 77; printf '{PASSES}'"
        self.assertEqual(self.run_tool("--share"), (0, sorted([*self.EVERYTHING, *self.FOREST, "control begin", "control quit -t 5"])))
        self.assertEqual(self.entries(), {"core.cuda": ["8.0", "8.6", "9.0", "memcheck"], "forest.cuda": ["8.0", "8.6", "9.0"]})
        found = json.loads(self.path.read_text())["programs"]
        self.assertEqual({name: [entry.get("shared") for way, entry in ways.items() if way != "memcheck"] for name, ways in found.items()},
                         {"core.cuda": [True] * 3, "forest.cuda": [None] * 3})

    def test_parts_are_one_entry(self):
        self.enter(mock.patch.dict(programs.PARTS, {"forest.cuda": 2}))
        self.assertEqual(self.run_tool("--only", "forest", "--shapes", "9.0", "--add"), (0, ["forest.cuda 1/2", "forest.cuda 2/2"]))
        self.assertEqual(json.loads(self.path.read_text())["programs"]["forest.cuda"]["9.0"]["parts"], 2)
        self.commands["forest.cuda"] = f"[ $TRINE_TEST_PART = 1/2 ] && printf '{PASSES}' || exit 77"
        self.texts["src/forest/cpu/factor.c"] += "int one_more;\n"
        self.assertEqual(self.run_tool("--only", "forest", "--shapes", "9.0", "--add")[1], ["forest.cuda 1/2", "forest.cuda 2/2"])
        self.assertIn("not run, for want of time or of a device: forest.cuda (9.0)", self.output.getvalue())

    def test_trees_say_what_they_were_built_from(self):
        of_libraries, of_all = gpu_test.hashes(sources.Sources(self.texts))
        for tree in ("build", "ptx"):
            (self.folder / tree / "sources.sha256").write_text(f"{of_libraries}\n{of_all}\n")
        self.assertEqual(self.run_tool()[0], 0)
        self.texts["tests/test_core.c"] += "int one_more;\n"  # is not in the library
        self.assertEqual(self.run_tool()[0], f"gpu-test: {self.folder}/build was built from other sources (tools/collect-deps records them)")
        (self.folder / "build/sources.sha256").write_text("\n".join(gpu_test.hashes(sources.Sources(self.texts))))
        self.assertEqual(self.run_tool("--add"), (0, sorted([*self.CORE, "core.cuda tool"])))
        self.texts["src/forest/cpu/factor.c"] += "int one_more;\n"
        (self.folder / "build/sources.sha256").write_text("\n".join(gpu_test.hashes(sources.Sources(self.texts))))
        self.assertEqual(self.run_tool()[0], f"gpu-test: {self.folder}/ptx was built from other sources (tools/collect-deps records them)")

    def test_trees_have_libraries(self):
        for tree in ("build", "ptx"):
            library = self.folder / tree / "lib/libtrine.so"
            library.unlink()
            self.assertEqual(self.run_tool(), (f"gpu-test: there is no lib/libtrine.so in {self.folder}/{tree}", []))
            library.touch()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
