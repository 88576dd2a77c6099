"""Fails if a comment, a .td file or a page names a missing file.

The check reads comments of C++, MLIR, PTX, Python (with docstrings), CMake and shell, and every line of lit tests. A
name is a path that begins with a folder in the root (`test/Docs`, `lib/*/CMakeLists.txt`), or the name of a source file
(`Strategy.h`, `Strategies/Strategy.h`). Paths are relative to the root or to a folder above the file. The
leading folders of a source file may be omitted. COMMIT:PATH is a file in another commit, and words in capitals are
placeholders.

RUN: %python %s %mx_src
"""

import fnmatch
import os
import pathlib
import re
import sys

# Suffixes of sources. Programs, kernels and arrays are excluded, because examples in pages name files of users.
SOURCES = {"h", "cpp", "td", "def", "inc", "py", "md", "cmake"}
SLASHES = {".h", ".cpp", ".c", ".cu", ".def", ".inc", ".mlir", ".ptx"}
HASHES = {".py", ".cmake", ".toml", ".sh", ".yml"}
COMMENT = {"//": re.compile(r"//[^\n]*|/\*.*?\*/", re.S),
           "#": re.compile(r'""".*?"""|(?<!\S)#[^\n]*', re.S)}
NAME = re.compile(r"(?<![\w./$%{}<>~@:=*-])[\w*][\w.+*-]*(?:/[\w*][\w.+*-]*)*(?![\w/{<$%])")
WORDS = re.compile(r"[/._-]")
# Files of other projects and toolkits, and build outputs.
OTHERS = re.compile(r"(cute|cutlass|mlir|llvm|cooperative_groups|nvidia|Examples/NVGPU)/|Ch\d\.py$|"
                    r"(cuda|nccl|Python|pyconfig|sysexits|fatbinary_section)\.h$|script\.py$|python/matmul\.py$|"
                    r"(Commit|wgmma|setmaxnreg)\.inc$|(Passes|PythonAPI|TorchAPI)\.md$|\.h\.inc$|Config\.cmake$|\.so$")
HIDDEN = {"build", "dist", "__pycache__", "Inputs", "Golden"}


def walk(root):
    """Returns the paths of files and folders relative to the root."""
    files, folders = [], set()
    for path, below, names in os.walk(root):
        below[:] = [name for name in below if name[0] != "." and name not in ("build", "dist", "__pycache__")]
        here = os.path.relpath(path, root).replace(os.sep, "/")
        folders.add(here)
        files += [name if here == "." else f"{here}/{name}" for name in names]
    return files, folders


def prose(name, text):
    """Returns the comments of a file, or the whole text of a page, a lit test or a TableGen file."""
    suffix = os.path.splitext(name)[1]
    if suffix in (".md", ".td", ".test"):
        return text
    if suffix in SLASHES:
        return "\n".join(COMMENT["//"].findall(text))
    if suffix in HASHES or name.endswith("CMakeLists.txt") or text.startswith("#!"):
        return "\n".join(COMMENT["#"].findall(text))
    return ""


class Tree:
    def __init__(self, root):
        self.root = root
        self.files, folders = walk(root)
        self.paths = folders | set(self.files)
        # Words in capitals except placeholders.
        self.capitals = {word for path in self.paths for word in WORDS.split(path) if word.isupper()}
        self.tops = {name for name in folders if "/" not in name} - {"."}
        # Sources by name, each with a preceding slash.
        self.sources = {}
        for path in self.files:
            self.sources.setdefault(path.rpartition("/")[2], []).append("/" + path)

    def has(self, name, file):
        above = [str(folder) for folder in pathlib.PurePosixPath(file).parents]
        paths = [os.path.normpath(os.path.join(folder, name)) for folder in above]
        if "*" in name:
            return any(fnmatch.filter(self.paths, path) for path in paths)
        return any(path in self.paths for path in paths)

    def has_source(self, name):
        last = name.rpartition("/")[2]
        if "*" in last:
            return any(fnmatch.fnmatch(path, "*/" + name) for path in self.files)
        return any(path.endswith("/" + name) for path in self.sources.get(last, ()))

    def missing(self, file, text):
        """Returns the names in a file's prose that do not exist."""
        for name in set(NAME.findall(prose(file, text))):
            name = name.rstrip(".-+")
            capitals = {word for word in WORDS.split(name) if word.isupper()}
            if capitals - self.capitals or OTHERS.search(name):
                continue
            is_path = "/" in name and name.partition("/")[0] in self.tops
            # Lit tests create sources.
            is_source = "." in name and name.rpartition(".")[2] in SOURCES and not file.endswith(".test")
            if is_path and not self.has(name, file) or is_source and not is_path and not (
                    self.has(name, file) or self.has_source(name)):
                yield name

    def check(self):
        for file in self.files:
            if file == "CHANGELOG.md" or HIDDEN & set(file.split("/")):
                continue
            text = (self.root / file).read_bytes()
            if b"\0" not in text[:4096]:
                for name in sorted(self.missing(file, text.decode("utf-8", "replace"))):
                    yield f"{file}: expected a file or a folder, found no {name}"


def check_itself(tree):
    """Checks that made-up names of each form are reported, and that names of existing or foreign files are not."""
    page, source, script = "docs/README.md", "lib/Target/TargetInfo.cpp", "scripts/nightly"
    # Capitals make the names in this file placeholders.
    for file, text, name in (
            (page, "see `lib/Target/POEM.cpp`.", "lib/Target/POEM.cpp"), (page, "(test/POEM)", "test/POEM"),
            (page, "`POEM.td`, lib/Target", "POEM.td"), (page, "`scripts/write-POEM x`", "scripts/write-POEM"),
            (source, "int x; // POEM.h\n", "POEM.h"), (source, "/* as\nTarget/POEM.cpp */", "Target/POEM.cpp"),
            ("include/mx/A.td", "let description = [{ lib/CAPI/POEM/*.cpp }];", "lib/CAPI/POEM/*.cpp"),
            (script, '#!\n""' + '"The script POEM.py.""' + '"', "POEM.py"), (script, "#!\nx = 1  # docs/POEM.md", "docs/POEM.md")):
        found = list(tree.missing(file, text.replace("POEM", "poem")))
        assert found == [name.replace("POEM", "poem")], (file, text, found)
    for file, text in (
            (page, "lib/Target/TargetInfo.cpp, test/Docs/, TargetInfo.h, Target/TargetInfo.h, x.mlir and DIR/a.py, lib/X.cpp"),
            (page, "https://example.com/lib/poem.cpp ../poem.md lib/<NAME>/poem.cpp 29571104:lib/poem.cpp lib/*/*/CMakeLists.txt"),
            (source, '#include "mx/poem.h"\nauto x = "lib/poem.h"; // TargetInfo.h'), (script, "#!\nx = 'poem.py'")):
        found = list(tree.missing(file, text))
        assert not found, (file, text, found)


tree = Tree(pathlib.Path(sys.argv[1]).resolve())
check_itself(tree)
sys.exit("\n".join(tree.check()) or 0)
