#!/usr/bin/env python3
"""Writes docs/api.md: which functions the public headers declare, which of them the library
exports, and which the tests call.

    tools/api_list.py [--lib PATH] [--out PATH] [--check]

--lib    the library to look into; by default the newest build/*/lib64/libreprise.so
--out    where to write instead of docs/api.md
--check  write nothing; fail if docs/api.md is not what would be written

Also fails if the library exports a function that no header declares.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"

VISIBLE = r"(?:ACL_FUNC_VISIBILITY|MSVP_PROF_API|HCCL_FUNC_VISIBILITY|__attribute__\(\(visibility\(\"default\"\)\)\))"
DECLARED = re.compile(r"^" + VISIBLE + r"\s+[\w\s*]*?\b(\w+)\s*\(", re.M)
INLINE = re.compile(r"^static inline\s+[\w\s*]*?\b(\w+)\s*\(", re.M)

TEST_SUFFIXES = {".c", ".cpp", ".h"}

HEAD = """# Functions

Made by `tools/api_list.py`; do not edit. *Built* means that `libreprise.so` exports the function; one
that is not built is missing at link time and NULL to `dlsym`. *Tested* means that its name occurs in a
test (`tests/headers`, which names every function, does not count).
"""

TAIL = """
## Not declared

Parts of the original interfaces that no header here declares:

- Offline models and single operators (`aclmdl*` other than `aclmdlRI*` and the dump calls, `aclop*`
  other than the dump calls): they belong to the graph engine.
- Resources for writing operators (`HcclThreadAcquire*`, `HcclChannel*`, `HcclEngineCtx*`,
  `HcclCommMemReg`, `HcclThreadResGetInfo`), fused-kernel calls (`HcclKfc*`, `HcclCreateOpResCtx` of
  `hccl/hccl_mc2.h`), and the connection and parameter-server calls of `hccl/hccl_ex.h`.
- Registration of memory pools with the profiler (`mstxMem*`).
- The typed forms of `aclrtMemcpyBatch*` and `aclrtMemManagedPrefetchBatchAsync` in
  `acl/acl_rt_api.h`, whose arrays of typed pointers cannot be read as arrays of `void *`; the forms
  over `void *` are there.
"""


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def read_headers():
    """Returns {header: ([declared functions], [functions that the header defines])}."""
    headers = {}
    for path in sorted((ROOT / "include").rglob("*.h")):
        text = without_comments(path.read_text())
        name = path.relative_to(ROOT / "include").as_posix()
        headers[name] = (DECLARED.findall(text), INLINE.findall(text))
    return headers


def find_library():
    found = list(ROOT.glob("build/*/lib64/libreprise.so"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def read_exports(library):
    if library is None:
        return set()
    output = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    fields = [line.split() for line in output.splitlines() if line]
    # A is the version node of the symbol map, not something that a program can call.
    return {field[-1].split("@")[0] for field in fields if field[-2] != "A"}


def read_test_words():
    words = set()
    for path in (ROOT / "tests").rglob("*"):
        if path.suffix in TEST_SUFFIXES and "headers" not in path.relative_to(ROOT / "tests").parts:
            words.update(re.findall(r"\w+", without_comments(path.read_text())))
    return words


def make_page(headers, exports, words):
    sections = []
    totals = [0, 0, 0]
    for name, (declared, inline) in headers.items():
        if not declared and not inline:
            continue
        rows = []
        for function in sorted(declared + inline):
            built = "in the header" if function in inline else "yes" if function in exports else ""
            tested = "yes" if function in words else ""
            rows.append(f"| `{function}` | {built} | {tested} |")
            totals[0] += 1
            totals[1] += built != ""
            totals[2] += tested != ""
        table = "\n".join(["| function | built | tested |", "| --- | --- | --- |"] + rows)
        sections.append(f"\n## {name}\n\n{table}\n")
    summary = f"\nDeclared {totals[0]}, built {totals[1]}, tested {totals[2]}.\n"
    return HEAD + summary + "".join(sections) + TAIL


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lib", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=PAGE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    library = options.lib or find_library()
    if library is not None and not library.exists():
        sys.exit(f"api_list: no such library: {library}")
    headers, exports = read_headers(), read_exports(library)
    page = make_page(headers, exports, read_test_words())
    known = {function for declared, _ in headers.values() for function in declared}
    stray = sorted(exports - known)
    if stray:
        sys.exit("api_list: exported, but declared by no header: " + ", ".join(stray))
    if not options.check:
        options.out.parent.mkdir(exist_ok=True)
        options.out.write_text(page)
        return
    if library is None:
        sys.exit("api_list: --check needs a library; build first or name one with --lib")
    old = PAGE.read_text() if PAGE.exists() else ""
    if old != page:
        diff = difflib.unified_diff(old.splitlines(), page.splitlines(), "docs/api.md", "now", lineterm="", n=0)
        print("\n".join(list(diff)[:40]))
        sys.exit("api_list: docs/api.md is stale; run tools/api_list.py")


if __name__ == "__main__":
    main()
