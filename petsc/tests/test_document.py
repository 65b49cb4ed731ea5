#!/usr/bin/env python3
"""Is docs/howto/petsc.md true? usage: test_document.py BUILD SOURCE FOLDER

Its ~~~sh blocks are run one after another in FOLDER, which looks like the folder of trine after `make petsc`: build/demo is BUILD. What
they print is the ~~~text block that follows, in which `...` stands for anything. <!-- test: by make check-petsc --> before a block: not
here, as `make check-petsc` begins with it. (tests/docs/run runs the ```sh blocks of how-to pages, without PETSc.)
"""
import pathlib
import re
import shutil
import sys

import launch

PAGE = "docs/howto/petsc.md"
FENCE = re.compile(r"^~~~(\w*)\n(.*?)^~~~$", re.M | re.S)
ELSEWHERE = "<!-- test: by make check-petsc -->"
MARK = "--- end of block ---"


def blocks_of(text):
    """The blocks to run: [(commands, expected output or None)]."""
    found = []
    for match in FENCE.finditer(text):
        before = text[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
        if match[1] == "sh" and before == ELSEWHERE:
            assert match[2] == "make petsc\n", f"make check-petsc does not run this:\n{match[2]}"
        elif match[1] == "sh":
            found.append([match[2], None])
        else:
            assert match[1] == "text" and before == "~~~", f"a block of language '{match[1]}': sh, or text right behind sh"
            found[-1][1] = match[2]
    return found


def main():
    build, source, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    if not shutil.which("mpiexec") or not shutil.which("mpicc"):
        print("skipped: there is no mpiexec, or no mpicc")
        return 77
    assert re.search(r"^check-petsc: petsc$", (source / "Makefile").read_text(encoding="utf-8"), re.M), "make check-petsc does not begin with make petsc"
    text = (source / PAGE).read_text(encoding="utf-8")
    assert "```" not in text, f"{PAGE}: a block that tests/docs/run would run"
    blocks = blocks_of(text)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    (folder / "build/demo").symlink_to(build)
    (folder / "petsc").symlink_to(source / "petsc")
    script = f"cd '{folder}'\nset -eu\n" + "".join(f"{body}echo '{MARK}'\n" for body, _ in blocks)
    code, output = launch.run(["bash", "-c", script])
    print(output)
    failed = code != 0
    if failed:
        print(f"FAILED: exit code {code}")
    for (body, expected), printed in zip(blocks, output.split(MARK + "\n")):
        pattern = re.escape(expected or "").replace(r"\.\.\.", ".*")
        if not re.fullmatch(pattern, printed):
            print(f"FAILED: expected\n{expected}and got\n{printed}from\n{body}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
