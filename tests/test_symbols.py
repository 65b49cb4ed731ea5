#!/usr/bin/env python3
"""Do the shared libraries export what the headers declare, and nothing else?

    test_symbols.py SOURCE NM CC CUDA LIBTRINE LIBTRINE_DIRECT COMMAND BENCH

CUDA: ON or OFF, as the libraries were built; the last three may be empty. The headers are the only lists: a public function
of include/ belongs to version TRINE_<abi>, one of src/core/direct_interface.h, plan.h or consume.h to TRINE_PRIVATE_<the number in the former>, one of
src/core/test_interface.h, test_places.h and team.h to TRINE_TEST. libtrine_direct uses all of what was made for it and nothing else that is private; the
command uses public functions alone, and the benchmark those and the test interface.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, NM, CC, CUDA, LIBTRINE, DIRECT, COMMAND, BENCH = (sys.argv[1:9] + [""] * 8)[:8]
PUBLIC = pathlib.Path(SOURCE, "include")
CORE = pathlib.Path(SOURCE, "src/core")


def declared(header, marker="TRINE_API"):
    """Names of the functions that a header marks, those that a macro makes included."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S).replace("\\\n", " ")
    macros = {name: (parameters.replace(" ", "").split(","), body)
              for name, parameters, body in re.findall(rf"^#define (\w+)\(([\w, ]+)\)(.*{marker}.*)$", text, flags=re.M)}
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    for name, (parameters, body) in macros.items():
        for arguments in re.findall(rf"^{name}\(([^)]*)\)", text, flags=re.M):
            made = body
            for parameter, argument in zip(parameters, arguments.split(",")):
                made = re.sub(rf"\s*##\s*{parameter}\b\s*(##)?", argument.strip(), made)
            text += made
    names = re.findall(rf"\b{marker}\b[^;(]*?(\w+)\s*\(", text)
    assert len(names) == len(re.findall(rf"\b{marker}\b", text)), header
    return set(names)


def define(header, name):
    return re.search(rf"^#define {name} (\d+)$", header.read_text(), flags=re.M)[1]


def symbols(file, *options):
    """{name: version or None} of a file's dynamic symbols, without the versions' own and those that linkers make (gold)."""
    lines = subprocess.run([NM, "-D", *options, file], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [line.split()[-2:] for line in lines]
    names = [re.match(r"([^@]+)(?:@@?(.*))?$", name).groups() for kind, name in found if kind != "A" and name not in ("_end", "_edata", "__bss_start")]
    return dict(names)


MAJOR, MINOR = (define(PUBLIC / "trine/core.h", "TRINE_VERSION_" + part) for part in ("MAJOR", "MINOR"))
ABI = f"0.{MINOR}" if MAJOR == "0" else MAJOR
PRIVATE_NODE = "TRINE_PRIVATE_" + define(CORE / "direct_interface.h", "TRINE_DIRECT_INTERFACE")

public = {name for header in sorted(PUBLIC.rglob("*.h")) if header.name != "direct.h" and (CUDA == "ON" or header.name != "tridigpu.h")
          for name in declared(header)}
public_direct = declared(PUBLIC / "trine/direct.h")
private = declared(CORE / "direct_interface.h") | declared(CORE / "plan.h") | declared(CORE / "consume.h")
for_tests = declared(CORE / "test_interface.h") | declared(CORE / "test_places.h") | declared(CORE / "team.h")


class Symbols(unittest.TestCase):
    maxDiff = None

    def assert_same(self, got, wanted, what):
        """Compare dictionaries name: version, with a sentence that names the difference."""
        missing, more = sorted(wanted.items() - got.items(), key=str), sorted(got.items() - wanted.items(), key=str)
        self.assertFalse(missing or more, f"{what}: missing {missing}, not to be there {more}")

    def test_headers_are_read(self):
        self.assertLessEqual({"trine_fail", "trine_context_create", "trine_gtsv", "trine_triangular_solve"}, public)
        self.assertIn("trine_factor_create", public_direct)
        made = declared(PUBLIC / "tridigpu.h")
        self.assertLessEqual({"tridigpuSgtsv", "tridigpuZbgtf_factorizationBufferSizeExt"}, made)
        self.assertEqual(len(made) % 4, 0)
        self.assertEqual(public & (private | for_tests), set())

    def test_libtrine(self):
        wanted = dict.fromkeys(public, f"TRINE_{ABI}") | dict.fromkeys(private, PRIVATE_NODE) | dict.fromkeys(for_tests, "TRINE_TEST")
        self.assert_same(symbols(LIBTRINE, "--defined-only"), wanted, "libtrine")

    @unittest.skipUnless(DIRECT, "no libtrine_direct")
    def test_libtrine_direct(self):
        in_place = declared(CORE.parent / "direct/isolation.c", "IN_PLACE_OF_THE_LIBRARYS") # of functions of SuperLU and METIS: no version
        self.assertIn("superlu_malloc", in_place)
        wanted = dict.fromkeys(public_direct, f"TRINE_{ABI}") | dict.fromkeys(in_place, None)
        got = symbols(DIRECT, "--defined-only")
        if "METIS_NodeND" not in got: # where there is no metis.h
            del wanted["METIS_NodeND"]
        self.assert_same(got, wanted, "libtrine_direct")

    @unittest.skipUnless(DIRECT, "no libtrine_direct")
    def test_what_libtrine_direct_uses(self):
        used = {name: version for name, version in symbols(DIRECT, "--undefined-only").items() if name.startswith("trine_")}
        self.assert_same({name: version for name, version in used.items() if name not in public}, dict.fromkeys(private, PRIVATE_NODE),
                         "private functions that libtrine_direct uses")
        self.assertEqual({version for name, version in used.items() if name in public}, {f"TRINE_{ABI}"})

    @unittest.skipUnless(COMMAND, "no command")
    def test_what_the_command_uses(self):
        used = {name: version for name, version in symbols(COMMAND, "--undefined-only").items() if name.startswith("trine_")}
        self.assertIn("trine_matrix_read_with", used)
        self.assert_same(used, dict.fromkeys(used, f"TRINE_{ABI}"), "functions that the command uses")
        self.assertEqual(used.keys() - public, set())

    @unittest.skipUnless(BENCH, "no benchmark")
    def test_what_the_benchmark_uses(self):
        used = {name: version for name, version in symbols(BENCH, "--undefined-only").items() if name.startswith("trine_")}
        self.assertEqual({name for name, version in used.items() if version != f"TRINE_{ABI}"} - for_tests, set())

    def test_soname(self):
        for file, name in (LIBTRINE, "trine"), (DIRECT, "trine_direct"):
            if file:
                dynamic = subprocess.run(["readelf", "-dW", file], check=True, capture_output=True, text=True).stdout
                self.assertIn(f"soname: [lib{name}.so.{ABI}]", dynamic)

    @unittest.skipUnless(DIRECT, "no libtrine_direct")
    def test_another_private_interface_is_refused(self):
        """A program with a libtrine of another number of the private interface cannot load libtrine_direct, and is told why."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "map").write_text(f"TRINE_{ABI} {{ global: trine_fail; local: *; }};\nTRINE_PRIVATE_0 {{ global: trine_log; }};\n")
            (folder / "libtrine.c").write_text("int trine_fail(void) { return 0; }\nvoid trine_log(void) {}\n")
            (folder / "program.c").write_text("#include <dlfcn.h>\n#include <stdio.h>\nint trine_fail(void);\n"
                                              "int main(int argc, char **argv)\n{\n    trine_fail();\n"
                                              "    if (dlopen(argv[argc - 1], RTLD_NOW)) return 0;\n    puts(dlerror());\n    return 3;\n}\n")
            library = folder / f"libtrine.so.{ABI}"
            subprocess.run([CC, "-shared", "-fPIC", folder / "libtrine.c", "-o", library, f"-Wl,-soname,{library.name}",
                            f"-Wl,--version-script={folder / 'map'}"], check=True)
            subprocess.run([CC, folder / "program.c", library, "-o", folder / "program", f"-Wl,-rpath,{folder}", "-ldl"], check=True)
            done = subprocess.run([folder / "program", DIRECT], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(PRIVATE_NODE, done.stdout)


class Kernels(unittest.TestCase):
    def test_what_sources_tell_apart(self):
        """No source tells compute capability 10.0 from 9.0: a build that is only to see whether kernels compile leaves it out (cmake/cuda.cmake)."""
        sources = [file for ending in ("c", "h", "cu", "cuh", "inc") for file in pathlib.Path(SOURCE, "src").rglob("*." + ending)]
        found = {number for file in sources for number in re.findall(r"__CUDA_ARCH(?:_FAMILY_SPECIFIC|_SPECIFIC|_LIST)?__\s*[<>=!]=?\s*(\d+)", file.read_text())}
        self.assertLessEqual({"900", "1200"}, found)
        self.assertEqual(found - {"860", "870", "890", "900", "1200"}, set())
        self.assertEqual([file for file in sources if re.search(r"__CUDA_ARCH_FEAT|__CUDA_ARCH_(FAMILY_)?SPECIFIC", file.read_text())], [])


class Includes(unittest.TestCase):
    def test_public_headers_only(self):
        """The command, the examples and the programs of the install tests include public headers and their own."""
        files = [file for folder in ("tools/trine", "examples", "tests/install") for file in pathlib.Path(SOURCE, folder).rglob("*.[ch]")]
        self.assertGreater(len(files), 20)
        for file in files:
            self.assert_includes(file, {"commit.h"})

    def test_benchmark(self):
        """The benchmark takes of src/ the test interface and the templates for four precisions; but for the kernels that it times by themselves."""
        kernels = {"tridiag_kernels_cuda.cu", "tune_tridiagonal.cu"}
        files = [file for ending in ("c", "h", "inc", "cu") for file in pathlib.Path(SOURCE, "bench").glob("*." + ending)]
        self.assertLessEqual(kernels, {file.name for file in files})
        for file in files:
            if file.name not in kernels:
                self.assert_includes(file, {"commit.h", "core/test_interface.h", "core/each_dtype.h"})

    def assert_includes(self, file, others):
        """Of files in quotation marks, `file` includes those of its folder and `others`."""
        for name in re.findall(r'^\s*#\s*include\s*"([^"]*)"', file.read_text(), flags=re.M):
            self.assertTrue(name in others or (file.parent / name).exists() and "/" not in name, f'{file}: #include "{name}"')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
