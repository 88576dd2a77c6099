"""Test inputs (corpora) and the generation of cases for each tool.

A case is a folder with files and a command that runs a tool on them. A target's `make` writes the files and returns the
command. Minimization shortens the first file in the command."""

import os
import pathlib
import re
import runpy
import shlex
import shutil
import struct
import subprocess

from . import images, mutate

DTYPES = {"f64": ("<f8", 8), "f32": ("<f4", 4), "f16": ("<f2", 2), "bf16": ("<u2", 2),
          "index": ("<i8", 8), "i64": ("<i8", 8), "i32": ("<i4", 4), "i16": ("<i2", 2),
          "i8": ("|i1", 1)}

CHIPS = list(runpy.run_path(
    pathlib.Path(__file__).resolve().parents[3] / "python/mx_compiler/_runtime/chips.py")["CHIPS"].values())
EXPAND = runpy.run_path(pathlib.Path(__file__).resolve().parents[2] / "python/expand_cases.py")["expand"]


def pieces(path):
    """Returns the parts of a test file, each with the mx-opt flags of its RUN lines."""
    text = path.read_text()
    if "%expand_cases" in text:
        text = EXPAND(text, path)
    runs = re.sub(r"\\\n\s*//\s*RUN:", " ", text)
    flags = []
    for run in re.findall(r"RUN:.*?\bmx-opt\b([^|>\n]*)", runs):
        try:
            words = shlex.split(run)
        except ValueError:
            continue
        words = [w for w in words if w.startswith("-") and "%t" not in w and "%mx" not in w]
        drop = ("--split-input-file", "-split-input-file", "--verify-diagnostics",
                "-verify-diagnostics", "-o", "--help", "--show-dialects", "--mlir-print")
        words = [w for w in words if not w.startswith(drop)]
        if words not in flags:
            flags.append(words)
    parts = re.split(r"^\s*// -----.*$", text, flags=re.M)
    # Skip refused programs: the corpus contains enough of them.
    parts = [p for i, p in enumerate(parts) if "expected-error" not in p or i % 8 == 0]
    parts = [re.sub(r"^\s*//.*\n", "", p, flags=re.M) for p in parts]
    return [(p.strip() + "\n", flags) for p in parts if "func" in p or "gpu.module" in p]


def arrays(random, text, entry):
    """Creates arguments of a function as .npy files, or returns None for types without an array form."""
    aliases = dict(re.findall(r"^(![\w.]+)\s*=\s*(tensor<.*>)\s*$", text, re.M))
    found = re.search(rf"func\.func @{re.escape(entry)}\((.*?)\)\s*(?:->|{{|attributes)", text, re.S)
    files = []
    for kind in re.findall(r"%\w+\s*:\s*(![\w.]+|tensor<[^>]*>|\w+)", found[1] if found else ""):
        kind = aliases.get(kind, kind)
        shape = re.match(r"tensor<((?:(?:\d+|\?)x)*)([\w]+)>", kind)
        extents, element = (shape[1], shape[2]) if shape else ("", kind)
        extents = [128 if n == "?" else int(n) for n in extents.split("x")[:-1]]
        dtype, size = DTYPES.get(element, ("|u1", 1))
        if element == "f4E2M1FN" and extents:
            extents[-1] //= 2
        count = size
        for n in extents:
            count *= n
        if count > 1 << 22:
            return []
        files.append(mutate.make_npy(dtype, extents, contents(random, element, count)))
    return files


def contents(random, element, count):
    if element in ("i32", "i64", "index"):  # group ends or row counts
        size = DTYPES[element][1]
        items = count // size
        return b"".join((i * 128 // max(items, 1)).to_bytes(size, "little")
                        for i in range(1, items + 1))
    block = b"".join(struct.pack("<f", random.gauss(0, 1)) for _ in range(64))
    if element in ("bf16", "f16"):
        block = b"".join(block[i + 2 : i + 4] for i in range(0, 256, 4))
    return (block * (count // len(block) + 1))[:count]


class Corpus:
    """Source programs and files from which cases are made. Programs are compiled into `work`."""

    def __init__(self, random, root, tools, work, examples):
        self.random, self.root, self.tools, self.work = random, root, tools, work
        self.modules, self.runnable = [], []
        paths = sorted((root / "test").rglob("*.mlir")) + sorted((root / "examples").glob("*.mlir"))
        for path in paths:
            for text, flags in pieces(path):
                self.modules.append((text, flags))
                # Skip programs with raw pointers, because a mutated address may write anywhere.
                if "!llvm.ptr" not in text and (
                        {"examples", "Execution", "Integration"} & set(path.parts)):
                    self.runnable.append(text)
        self.texts = mutate.Texts(random, [text for text, _ in self.modules])
        self.programs = [p for name in examples if (p := self.program(name))]
        self.launches = sorted(pathlib.Path(work).glob("record/*/*/launch.json"))
        self.ptx_texts = mutate.Texts(random, [p.with_name("kernel.ptx").read_text() for p in self.launches] or [""])
        self.lists = [json.read_text() for json in self.launches]
        self.lists += [(p / "manifest.json").read_text() for p, _ in self.programs]
        self.json_texts = mutate.Texts(random, self.lists or ["{}"])
        self.numbers = mutate.Texts(random, ["{'descr': '<f4', 'fortran_order': False, "
                                             "'shape': (2, 3), 'V2' '|O' '>f8' '<c16' True}"])

    def program(self, name):
        """Compiles an example, runs it once with arguments, and records the launch files of the run."""
        source = self.root / "examples" / f"{name}.mlir"
        folder = self.work / "programs" / name
        done = subprocess.run([self.tools / "mx-compile", source, "-o", folder, "--ptxas=none"],
                              capture_output=True)
        if done.returncode:
            raise SystemExit(f"fuzz: error: {source} was not compiled:\n{done.stderr.decode()}")
        text = source.read_text()
        entry = re.search(r"func\.func @(\w+)", text)[1]
        files = arrays(self.random, text, entry)
        for i, data in enumerate(files):
            (folder / f"{i}.npy").write_bytes(data)
        args = [w for i in range(len(files)) for w in ("--arg", f"{i}.npy")]
        record = self.work / "record" / name
        record.mkdir(parents=True)
        subprocess.run([self.tools / "mx-launch", ".", "--device=sim", f"--entry={entry}", *args],
                       cwd=folder, capture_output=True,
                       env={**os.environ, "MX_SIM_RECORD": str(record)})
        return folder, [f"--entry={entry}", *args]

    def module(self):
        text, flags = self.random.choice(self.modules)
        return self.texts.mutate(text.encode()), flags


def passes(tools):
    """Returns the flag names of the mx passes."""
    text = subprocess.run([tools / "mx-opt", "--help"], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"^\s+(--mx(?:gpu)?-[\w-]+)\s+-\s", text, re.M)))


class Cases:
    """Cases of each tool. A method writes the files into `folder` and returns the command and the mutated file."""

    def __init__(self, random, corpus, tools):
        self.random, self.corpus, self.tools = random, corpus, tools
        self.passes = passes(tools)

    def write(self, folder, name, data):
        (folder / name).write_bytes(data)
        return name

    def opt(self, folder):
        data, flags = self.corpus.module()
        chip = self.random.choice(CHIPS)
        ways = [["--verify-roundtrip"], [f"--mx-to-nvvm=chip={chip}"], ["--mx-to-cpu"],
                [self.random.choice(self.passes)], *flags, *flags]
        name = self.write(folder, "in.mlir", data)
        words = self.random.choice(ways)
        if self.random.random() < 0.2:  # mutate the pass options
            words = [re.sub(r"(?<==)\d+", lambda n: str(mutate.number(self.random, int(n[0]))), w)
                     for w in words]
        return ["mx-opt", name, *words, "-o", "out.mlir"], name

    def translate(self, folder):
        data, _ = self.corpus.module()
        name = self.write(folder, "in.mlir", data)
        way = self.random.choice(["--mx-to-ptx", "--mx-to-manifest"])
        return ["mx-translate", way, name, "-o", "out"], name

    def compile(self, folder):
        data, _ = self.corpus.module()
        name = self.write(folder, "in.mlir", data)
        return ["mx-compile", name, "-o", "out", "--ptxas=none",
                f"--chip={self.random.choice(CHIPS)}"], name

    def run(self, folder):
        text = self.random.choice(self.corpus.runnable)
        entry = self.random.choice(re.findall(r"func\.func @(\w+)", text) or ["main"])
        files = arrays(self.random, text, entry)
        changed = "in.mlir"
        if files and self.random.random() < 0.4:
            i = self.random.randrange(len(files))
            files[i] = mutate.mutate_npy(self.random, files[i], self.corpus.numbers)
            changed = f"{i}.npy"
            if self.random.random() < 0.5:  # allow any shape
                text = re.sub(r"(?<=[<x])\d+(?=x)", "?", text)
            self.write(folder, "in.mlir", text.encode())
        else:
            self.write(folder, "in.mlir", self.corpus.texts.mutate(text.encode()))
        args = [w for i, data in enumerate(files)
                for w in ("--arg", self.write(folder, f"{i}.npy", data))]
        device = self.random.choice(["cpu", "cpu", "sim"])
        more = self.random.choice([[], [], ["--check=cpu"], ["--mx-explain"]])
        return ["mx-run", "in.mlir", f"--entry={entry}", f"--device={device}", *more, *args], changed

    def launch(self, folder, pattern, change):
        """Builds a case of mx-launch on a program with a mutated file."""
        fit = [found for found in self.corpus.programs if any(found[0].glob(pattern))]
        program, args = self.random.choice(fit)
        shutil.copytree(program, folder, dirs_exist_ok=True)
        name = self.random.choice(sorted(p.name for p in folder.glob(pattern)))
        self.write(folder, name, change((folder / name).read_bytes()))
        return ["mx-launch", ".", "--device=sim", *args], name

    def manifests(self, folder):
        return self.launch(folder, "manifest.json", lambda data: mutate.mutate_json(
            self.random, data, self.corpus.json_texts))

    def images(self, folder):
        # Most cases need no kernel in the image, because the image is read before the first launch.
        ptx = b".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"
        return self.launch(folder, "kernels.ptx", lambda data: images.any_image(
            self.random, data if self.random.random() < 0.2 else ptx + b" " * self.random.choice([0, 40, 3000])))

    def npy(self, folder):
        return self.launch(folder, "*.npy", lambda data: mutate.mutate_npy(
            self.random, data, self.corpus.numbers))

    def sim(self, folder, pattern, change):
        """Builds a case of mx-sim on a recorded launch with a mutated file."""
        launch = self.random.choice(self.corpus.launches)
        for path in launch.parent.iterdir():
            (folder / path.name).symlink_to(path)
        name = self.random.choice(sorted(p.name for p in folder.glob(pattern)))
        data = launch.with_name(name).read_bytes()
        (folder / name).unlink()
        self.write(folder, name, change(data))
        return ["mx-sim", "launch.json", "--jobs=2"], name

    def launch_files(self, folder):
        return self.sim(folder, "launch.json", lambda data: mutate.mutate_json(
            self.random, data, self.corpus.json_texts))

    def ptx(self, folder):
        return self.sim(folder, "*.ptx", self.corpus.ptx_texts.mutate)
