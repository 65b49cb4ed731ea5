"""What each test program that runs on a GPU is made of, and a hash of that.

A program depends on

- what all of them share: src/core, include/trine/core.h, cmake/, CMakeLists.txt less the folders outside src/ that it adds, and tests/CMakeLists.txt
  less what registers single programs;
- its own registration, its source, and the files of tests/ that these include. tests/x.h stands for tests/x.c as well, or, where there is
  none, for every shared source that includes it. harness.c and elements.c are linked with each;
- the modules (folders of src/) that it reaches, whole;
- the other public headers of which one of these files names a type, constant or macro (trine_x, TRINE_X), or that it includes although trine.h does not.

What reaches a module. C and C++ have no use without a declaration, and a function of another module is declared in two kinds of places
only: in a header of that module, which the user then includes; or in include/ or src/core, where everybody sees it, as a function marked
TRINE_API. So a file reaches a module if it includes a header of it, or if it contains the name of a TRINE_API function that the module
defines: every name that calls or takes a function is one, also those that FN and TABLE (core/each_dtype.h, core/scalar.h) give their
ending, and the beginning of one that a macro pastes together. What trine.h leaves out (direct.h, tridigpu.h) counts for all modules that
include it. Modules reach further ones in the same way. Too much is no harm: a name that is only mentioned counts as well.
Types, constants and inline functions are in headers, which count whole but for declarations of TRINE_API functions: the definition counts. What is called through pointers (plans, operators) was made by a
function of its module. tests/test_gpu_record.py compares all this with the symbols of a build.

Comments and blank space do not count. Python standard library only.
"""
import collections
import functools
import hashlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = "tests/CMakeLists.txt"
EVERY_PROGRAM = ("tests/harness.c", "tests/elements.c")
PUBLIC_CORE = ("include/trine/core.h", "include/trine/trine.h")  # public headers that all programs share

# ------------------------------------------------------------------- stripping

C_ENDINGS = {".c", ".h", ".cu", ".cuh", ".inc", ".cpp", ".hpp"}

C_TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?\*/)
      | (?P<text>R"(?P<fence>[^\s()\\]{0,16})\(.*?\)(?P=fence)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>\d[\w.']*)                      # 1'000'000 is no character constant""",
    re.DOTALL | re.VERBOSE)

HASH_TOKEN = re.compile(
    r'''(?P<comment>\#\[(?P<fence>=*)\[.*?\](?P=fence)\]|\#[^\n]*)
      | (?P<text>"""(?:[^\\]|\\.)*?"""|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\[(?P<raw>=*)\[.*?\](?P=raw)\])''',
    re.DOTALL | re.VERBOSE)


@functools.cache
def without_comments(source):
    return C_TOKEN.sub(lambda match: match[0] if match["comment"] is None else " ", source)


@functools.cache
def strip_c(source):
    """C or CUDA source without comments, and with blank space only where it separates tokens."""
    texts = []

    def replace(match):
        if match["comment"] is not None:
            return " "
        texts.append(match[0])
        return f"\0{len(texts) - 1}\0"

    source = C_TOKEN.sub(replace, source).replace("\\\n", " ")
    lines, code = [], []
    for line in source.split("\n"):
        if line.lstrip().startswith("#"):  # a directive ends with its line, and "F (" is not "F("
            lines += [squeeze(" ".join(code)), " ".join(line.split()).replace("# ", "#", 1)]
            code = []
        else:
            code.append(line)
    lines.append(squeeze(" ".join(code)))
    return re.sub("\0(\\d+)\0", lambda m: texts[int(m[1])], "\n".join(line for line in lines if line))


BLANK = re.compile(r"((?<=[\w\0]) (?=[\w\0])|(?<=[-+&|<>=*/:.!]) (?=[-+&|<>=*/:.]))| ")


def squeeze(code):
    """Drop blank space between tokens that cannot run together."""
    return BLANK.sub(r"\1", " ".join(code.split()))


@functools.cache
def strip_hash(source):
    """CMake or Python source without # comments, trailing blanks and empty lines. Indentation stays."""
    source = HASH_TOKEN.sub(lambda m: m[0] if m["comment"] is None else "", source)
    return "\n".join(line.rstrip() for line in source.split("\n") if line.strip())


# ---------------------------------------------------------------- registrations

# Commands of tests/CMakeLists.txt that are about single programs.
OF_PROGRAMS = re.compile(r"^[ \t]*(trine_test|trine_test_shares|target_\w+|set_target_properties|add_dependencies)\(([^()]*)\)[ \t]*(?:\n|\Z)", re.MULTILINE)


def split_registrations(text):
    """tests/CMakeLists.txt, stripped: what all programs share, and {program: its own registration} of those that run on a GPU.
    Names of programs are those of ctest, core.cuda. Other programs' registrations are in neither."""
    commands = [(match[1], match[2].split()) for match in OF_PROGRAMS.finditer(text)]
    registered = {words[0]: {"DEVICES", "GPU_ONLY"} & set(words) for command, words in commands if command == "trine_test"}
    own = collections.defaultdict(list)

    def take(match):
        command, words = match[1], match[2].split()
        if command == "trine_test_shares":
            for name in words[1:]:
                own[name].append(f"{command}({words[0]} {name})")
            return ""
        name = words[0] if command == "trine_test" else words[0].removeprefix("test_")
        if name not in registered or command != "trine_test" and name == words[0]:
            return match[0]
        own[name].append(f"{command}({' '.join(words)})")
        return ""

    shared = OF_PROGRAMS.sub(take, text).strip()
    return shared, {f"{name}.cuda": "\n".join(own[name]) for name, on_gpu in sorted(registered.items()) if on_gpu}


# Folders that are built from what counts, and of which no program is made: the command, benchmarks, fuzz targets.
OTHER_FOLDER = re.compile(r"^[ \t]*add_subdirectory\((?!src/)[^()]*\)[ \t]*(?:\n|\Z)", re.MULTILINE)

# ------------------------------------------------------------------ dependencies

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
DECLARED = re.compile(r"^TRINE_API\b[^;{(]*?(\w+)\([^;{]*;", re.MULTILINE)
DEFINED = re.compile(r"^(?!static\b|typedef\b|TRINE_API\b)[A-Za-z_][\w *]*?(?:\bFN\((\w+)\)|\b(\w+))\(", re.MULTILINE)
PASTED = re.compile(r"(?<![\w#])(\w+)[ \t]*##")


def read(root=ROOT):
    """Path -> text of all that may count."""
    paths = [root / "CMakeLists.txt", root / TESTS, *(root / "cmake").glob("*.cmake"), *(root / "cmake").glob("*.in"), *(root / "src").rglob("CMakeLists.txt")]
    paths += [path for folder in ("src", "include", "tests") for path in (root / folder).rglob("*") if path.suffix in C_ENDINGS]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths) if path.is_file()}


@functools.cache
def includes(code):
    """Pairs of what is included in quotes and in angles; one of the two is empty."""
    return INCLUDE.findall(code)


@functools.cache
def names_in(code):
    """All of them, and those that "##" follows."""
    return set(re.findall(r"\w+", code)), set(PASTED.findall(code)) if "##" in code else set()


@functools.cache
def defined_in(code):
    """Names of functions that are not static, those that FN ends with all their endings."""
    return {name for stem, name in DEFINED.findall(code) for name in ([name] if name else [f"{stem}_{t}" for t in "sdcz"])}


def module_of(path):
    """The folder of src/ that a file is in; None: another file."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def is_c(path):
    return path.endswith(tuple(C_ENDINGS))


class Sources:
    """Sources (path -> text), what depends on what among them, and hashes."""

    def __init__(self, texts):
        self.code = {path: without_comments(text) for path, text in texts.items() if is_c(path)}
        self.modules = {name: sorted(path for path in texts if module_of(path) == name) for name in sorted(set(map(module_of, texts)) - {None})}
        self.common = [path for path in texts if module_of(path) == "core" or path.startswith("cmake/") or path in PUBLIC_CORE or path == "CMakeLists.txt"]
        self.definers = self._find_definers()
        self.public, self.headers_of = self._find_public()
        self.apart = self._find_headers_apart()
        self.uses = {name: self.reached(paths) for name, paths in self.modules.items()}
        shared, registrations = split_registrations(strip_hash(texts[TESTS]))
        self.programs = list(registrations)
        counted = {TESTS: shared, **{f"{TESTS}({name})": text for name, text in registrations.items()},
                   "CMakeLists.txt": OTHER_FOLDER.sub("", strip_hash(texts["CMakeLists.txt"]))}
        self._files = {name: self._files_of(name) for name in self.programs}
        for path in {path for files in [*self._files.values(), *self.modules.values(), self.common, self.public] for path in files} - counted.keys():
            code = self._without_declarations(path) if path in self.common or path in self.public else texts[path]
            counted[path] = strip_c(code) if is_c(path) else strip_hash(texts[path])
        self.digests = {path: hashlib.sha256(text.encode()).hexdigest()[:16] for path, text in sorted(counted.items())}

    # Which files.

    def _find_definers(self):
        """Name -> modules that define the TRINE_API function of that name, or one with an ending for a precision."""
        headers = [path for path in self.code if path.startswith("include/") or path in self.common and path.endswith(".h")]
        declared = {name for path in headers for name in DECLARED.findall(self.code[path])}
        definers = collections.defaultdict(set)
        for module, paths in self.modules.items():
            for path in filter(is_c, paths):
                for name in declared & defined_in(self.code[path]):
                    definers[name].add(module)
        self.undefined = declared - definers.keys()
        for name in declared & definers.keys():
            if name[-2:] in ("_s", "_d", "_c", "_z"):
                definers[name[:-2]] |= definers[name]
        return dict(definers)

    def _without_declarations(self, path):
        """Code without declarations of functions that a module defines: to declare is not to use, and the definition says the same."""
        return DECLARED.sub(lambda match: "" if match[1] in self.definers else match[0], self.code[path]) if is_c(path) else ""

    def _find_public(self):
        """Public headers but those that all programs share, each with the names that it has; and name -> headers that declare it: that have it, and
        include none that has it."""
        named = {path: {name for name in names_in(self._without_declarations(path))[0] if name.startswith(("trine_", "TRINE_"))}
                 for path in self.code if path.startswith("include/")}

        def names_before(path):
            included = [f"include/{angled}" for _, angled in includes(self.code[path]) if f"include/{angled}" in named]
            return set().union(*(named[header] | names_before(header) for header in included))
        headers_of = collections.defaultdict(set)
        for path in named.keys() - set(PUBLIC_CORE):
            for name in named[path] - names_before(path):
                headers_of[name].add(path)
        return {path: names for path, names in named.items() if path not in PUBLIC_CORE}, dict(headers_of)

    def _find_headers_apart(self):
        """Public headers that trine.h does not include -> modules that include them."""
        everything = {name for _, name in includes(self.code["include/trine/trine.h"])} | {"trine/trine.h"}
        apart = {path.removeprefix("include/") for path in self.code if path.startswith("include/")} - everything
        return {header: {module for module, paths in self.modules.items() for path in filter(is_c, paths) if f"<{header}>" in self.code[path]} for header in apart}

    def reached(self, paths):
        """Modules that the files use themselves."""
        return set().union(*(self._reached_by(path) for path in paths if is_c(path)))

    @functools.cache
    def _reached_by(self, path):
        code, modules = self.code[path], set()
        for quoted, angled in includes(code):
            modules |= {quoted.split("/")[0]} & self.modules.keys()
            modules |= self.apart.get(angled, set())
        if path in self.common:
            code = self._without_declarations(path)
        names, beginnings = names_in(code)
        for name in names & self.definers.keys():
            modules |= self.definers[name]
        for beginning in beginnings:
            modules |= {module for name, found in self.definers.items() if name.startswith(beginning) for module in found}
        return modules

    def modules_of(self, program):
        """Modules that a program reaches."""
        found, left = set(), self.reached(self.own_files(program)) | self.reached(self.common) | {"core"}
        while left:
            module = left.pop()
            found.add(module)
            left |= self.uses[module] - found
        return found

    def own_files(self, program):
        """A program's files of tests/."""
        stem = f"tests/test_{program.removesuffix('.cuda')}"
        found, left = set(), {stem + (".cu" if stem + ".cu" in self.code else ".c"), *EVERY_PROGRAM}
        while left:
            path = left.pop()
            found.add(path)
            if path.endswith(".h"):
                sources = {path[:-2] + ".c"} & self.code.keys()
                left |= sources or {other for other in self.code if other.endswith(".c") and not other.startswith("tests/test_")
                                    and path in self._included(other)}
            left |= self._included(path)
            left -= found
        return found

    def _included(self, path):
        """Files of tests/ that one of them includes."""
        return {f"tests/{quoted}" for quoted, _ in includes(self.code[path]) if path.startswith("tests/")} & self.code.keys()

    def _files_of(self, program):
        files = {TESTS, f"{TESTS}({program})", *self.common, *self.own_files(program)}
        files = files.union(*(self.modules[module] for module in self.modules_of(program)))
        return sorted(files | self._headers_named_in(path for path in files if path in self.code))

    def _headers_named_in(self, paths):
        """Public headers that the files include or name something of, and those that these name something of."""
        found, left = set(), set().union(*(self._headers_named_by(path) for path in paths))
        while left:
            header = left.pop()
            found.add(header)
            left |= set().union(*(self.headers_of.get(name, set()) for name in self.public[header])) - found
        return found

    @functools.cache
    def _headers_named_by(self, path):
        names, beginnings = names_in(self._without_declarations(path) if path in self.common else self.code[path])
        names = names | {name for name in self.headers_of for beginning in beginnings if name.startswith(beginning)}
        included = {f"include/{angled}" for _, angled in includes(self.code[path]) if angled in self.apart}
        return included.union(*(self.headers_of[name] for name in names & self.headers_of.keys()))

    # Hashes.

    def digests_of(self, program):
        """File -> short hash, of all that the program depends on."""
        return {path: self.digests[path] for path in self._files[program]}

    def hash_of(self, program, environment):
        """Hash of a program and of the environment that it runs in."""
        return _hash([*self.digests_of(program).items(), *sorted(environment.items())])

    def library(self):
        """Hash of what the libraries are made of."""
        return _hash((path, digest) for path, digest in self.digests.items() if not path.startswith("tests/"))

    def whole(self):
        """Hash of the libraries and all programs."""
        return _hash(self.digests.items())


def _hash(pairs):
    return hashlib.sha256("\n".join(f"{name} {value}" for name, value in pairs).encode()).hexdigest()
