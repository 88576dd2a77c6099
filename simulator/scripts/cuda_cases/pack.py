"""Packs a bundle that compares a GPU with the simulator, without LLVM.

usage: scripts/check-cuda --pack FILE.tar.xz|DIRECTORY [--cases N] [--only PART,...]

Compiles programs for sm_90a, runs at least N cases (default 250) on the simulator, and packs
their results. On the GPU machine ./check (check.py) runs the bundle. The parts are runtime,
cases, wgmma, layer, dropin and mx-run (minutes to link)."""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "simulator" / "scripts" / "cuda_cases"
RUN = ROOT / "test" / "Integration" / "Run"
INPUTS = RUN / "Inputs"
BUILD = pathlib.Path(os.environ.get("MX_BUILD", ROOT / "build" / "gcc"))
LLVM = pathlib.Path(os.environ.get("MX_LLVM_PREFIX", "/usr/lib/llvm-22"))
CHIP = "sm_90a"
PARTS = ["runtime", "cases", "wgmma", "layer", "dropin", "mx-run"]
PROGRAMS = ["vector-add", "tma", "cluster", "host-memory"]

STAGED = "--schedule=tile = [128, 128, 64], epilogue = tma_store, staging = 2"
FORMATS = [INPUTS / "matmul_formats.py", "{run}", "sim", "{work}"]
GROUPED = [INPUTS / "grouped_formats.py", "{run}", "sim", "{work}"]
# Each row contains a name, a script with its arguments, and the number of cases if N is 250. None
# runs all cases of the script. The script compares each case with NumPy.
JOBS = [
    ("formats", [*FORMATS, "--count={n}"], 60),
    ("staged", [*FORMATS, "--first=60", "--count={n}", "--multiple-of-n=8", STAGED], 26),
    ("split", [*FORMATS, "--first=86", "--count={n}", "--least-k=128",
               "--schedule=tile = [128, 128, 64], split_k = 2"], 13),
    ("tile64", [*FORMATS, "--first=99", "--count={n}",
                "--schedule=tile = [64, 256, 64], strategy = #mxgpu.wgmma_upcast_b<operand_stages = 3>, raster = group_m(2)"], 8),
    ("tile256", [*FORMATS, "--first=107", "--count={n}",
                 "--schedule=tile = [256, 64, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 1>, pdl"], 8),
    ("borders", [INPUTS / "borders.py", "{run}", "sim", "{work}", "--count={n}"], 25),
    ("rows", [*GROUPED, "rows", "--count={n}"], 30),
    ("reduction", [*GROUPED, "reduction", "--count={n}"], 30),
    ("rows-staged", [*GROUPED, "rows", "--first=30", "--count={n}", STAGED], 8),
    ("reduction-staged", [*GROUPED, "reduction", "--first=30", "--count={n}", STAGED], 8),
    # Scattered, quantized, split and masked results in turn.
    ("results", [RUN / "grouped-results.py", "{run}", "{work}", "{n}"], 48),
    ("weights", [RUN / "weights.py", "{run}", "{work}", "--count={n}"], 48),
    ("swapped", [RUN / "weights.py", "{run}", "{work}", "--swap-ab", "--count={n}"], 42),
    # Weights in row-major layout, and packed.
    ("packed", [RUN / "weights.py", "{run}", "{work}", "--packed", "--first=96",
                "--count={n}"], 48),
    ("packed-swapped", [RUN / "weights.py", "{run}", "{work}", "--packed", "--swap-ab",
                        "--first=84", "--count={n}"], 42),
    ("epilogues", [INPUTS / "epilogue.py", "{run}", "{work}", "0"], None),
    ("example", [INPUTS / "matmul_shapes.py", "{run}", ROOT / "examples/matmul.mlir", "sim",
                 "{work}", "{n}"], 10),
    ("grouped-example", [INPUTS / "grouped.py", "{run}", ROOT / "examples/grouped_matmul.mlir",
                         "sim", "{work}"], None),
]


def say(text):
    print(f"==> {text}", flush=True)


def call(*command, **options):
    return subprocess.run([str(x) for x in command], check=True, **options)


def environment(**more):
    """Returns the environment of programs with the Python package and library of this tree."""
    path = [ROOT / "python", ROOT / "test/python", INPUTS]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)),
                MX_RUNTIME=str(BUILD / "lib/libmx_runtime.so"), PYTHONDONTWRITEBYTECODE="1",
                MX_CHIP=CHIP, MX_SIM_TENSOR_SUMS="truncated",
                PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", **more)


def compile_program(source, target, **options):
    call(BUILD / "bin/mx-compile", source, f"--chip={CHIP}", "-o", target, **options)


def copy(bundle, *paths):
    """Copies files and folders of the repository to the same paths in the bundle."""
    for path in paths:
        target = bundle / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / path, target)


def pack_runtime(bundle, options):
    copy(bundle, "python/mx_compiler", "runtime/include", "runtime/test/kernels.ptx",
         *(f"simulator/scripts/cuda_cases/{name}.py" for name in ("cases", "replay", "check")))
    for name in "lib/libmx_runtime.so", "bin/mx-launch", "unittests/mx-check-cuda":
        target = bundle / ("lib" if name.startswith("lib") else "bin")
        target.mkdir(exist_ok=True)
        # Programs load the library by its versioned name.
        file = (BUILD / name).resolve().name
        call("strip", "-o", target / file, BUILD / name)
        if file != pathlib.Path(name).name:
            (target / pathlib.Path(name).name).symlink_to(file)
    (bundle / "check").write_text('#!/bin/sh\nexec "${PYTHON:-python3}" '
                                  '"$(dirname "$0")/simulator/scripts/cuda_cases/check.py" "$@"\n')
    (bundle / "check").chmod(0o755)


def run_job(job, bundle, options):
    """Returns the output of a script, and whether all comparisons passed."""
    name, command, most = job
    count = most and max(1, -(-most * options.cases // 250))
    with tempfile.TemporaryDirectory() as work:
        given = [str(x).format(run=HERE / "record.py", work=work, n=count) for x in command]
        done = subprocess.run(
            [sys.executable, *given], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment(MX_RECORD=str(bundle / "recorded"), MX_RECORD_NAME=name,
                            MX_RECORD_TOOLS=str(BUILD / "bin")))
    lines = done.stdout.splitlines()
    say(f"{name}: {lines[-1] if lines else 'no output'}")
    if done.returncode:
        print(f"error: {shlex.join(given)}: exit status {done.returncode}\n{done.stdout}")
    return done.returncode == 0


def pack_cases(bundle, options):
    (bundle / "recorded").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        right = list(pool.map(lambda job: run_job(job, bundle, options), JOBS))
    count = len(list(bundle.glob("recorded/cases/*/case.json")))
    if count < options.cases:
        sys.exit(f"error: expected at least {options.cases} cases, found {count}")
    say(f"{count} cases")
    return all(right)


def pack_wgmma(bundle, options):
    folder = bundle / "wgmma"
    copy(bundle, "test/Pipelines/Inputs/wgmma_blocks.py", "test/Pipelines/Inputs/wgmma.py",
         "test/Integration/Run/Inputs/run_wgmma_blocks.py", "test/Integration/Run/Inputs/wgmma.py")
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work) / "blocks.mlir"
        with open(source, "w") as out:
            call(sys.executable, ROOT / "test/Pipelines/Inputs/wgmma_blocks.py", stdout=out)
        compile_program(source, folder)
    call(sys.executable, INPUTS / "run_wgmma_blocks.py", folder, "--device=sim",
         "--save", bundle / "wgmma.npz", env=environment())


def pack_layer(bundle, options):
    copy(bundle, "test/python", "examples/train_moe.py",
         "test/Integration/Run/Inputs/moe_layer.py", "test/AheadOfTime/Inputs/batches.py")
    compile_program("moe_layer.mlir", bundle / "layer/program", cwd=ROOT / "examples")
    with tempfile.TemporaryDirectory() as work:
        call(sys.executable, INPUTS / "moe_observe.py", ROOT / "examples/moe_layer.mlir",
             f"{work}/moe_layer.mlir")
        compile_program("moe_layer.mlir", bundle / "layer/observed", cwd=work)
    call(os.environ.get("CC", "gcc"), "-O2", ROOT / "examples/c/moe_layer.c",
         f"-I{ROOT}/runtime/include", f"-L{BUILD}/lib", "-lmx_runtime", "-lpthread", "-ldl",
         "-Wl,-rpath,$ORIGIN/../lib", "-o", bundle / "bin/moe_layer")


def pack_dropin(bundle, options):
    """Packs programs of stock MLIR, linked with the library, and their output on the
    simulator."""
    folder = bundle / "dropin"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for name in PROGRAMS:
            lowered = subprocess.run(
                [LLVM / "bin/mlir-opt", ROOT / f"test/Integration/Runner/{name}.mlir",
                 "-gpu-lower-to-nvvm-pipeline=cubin-chip=sm_90 cubin-features=+ptx80 "
                 "cubin-format=isa"], check=True, stdout=subprocess.PIPE).stdout
            text = subprocess.run([LLVM / "bin/mlir-translate", "--mlir-to-llvmir"],
                                  input=lowered, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run([LLVM / "bin/llc", "-filetype=obj", "-relocation-model=pic", "-o",
                            f"{work}/{name}.o"], input=text, check=True)
            call(os.environ.get("CXX", "g++"), "-O2", f"{work}/{name}.o",
                 HERE / "print_memref.cpp", f"-I{LLVM}/include", f"-L{BUILD}/lib",
                 "-lmx_runtime", "-Wl,-rpath,$ORIGIN/../lib", "-o", folder / name)
            done = subprocess.run([folder / name], stdout=subprocess.PIPE,
                                  env=environment(MX_DEVICE="sim"))
            (folder / f"{name}.expected").write_bytes(done.stdout)


def pack_mx_run(bundle, options):
    """Packs mx-run with LLVM's shared libraries, the largest files of the bundle."""
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "mx-run"], check=True,
                              capture_output=True, text=True).stdout.splitlines()[-1].split()
    own = [BUILD / word for word in commands if word.endswith((".a", ".cpp.o", ".c.o"))
           and not word.startswith("/")]
    stock = [path for kind in ("MLIR", "LLVM") for path in sorted(
        (LLVM / "lib").glob(f"lib{kind}*.a")) if "Test" not in path.name]
    call(os.environ.get("CXX", "g++"), "-s", "-Wl,--gc-sections", "-Wl,-rpath,$ORIGIN/../lib",
         "-Wl,--start-group", *own, *stock, "-Wl,--end-group", BUILD / "lib/libmx_runtime.so",
         "-l:libz.so.1", "-l:libzstd.so.1", "-lpthread", "-ldl", "-lm", "-o", bundle / "bin/mx-run")


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--pack", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.parts = options.only.split(",")
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"expected one of {', '.join(PARTS)}, found '{part}'")
    if not (BUILD / "bin/mx-compile").exists():
        parser.error(f"expected a build with LLVM in {BUILD}, found none: run scripts/build")
    return options


def main():
    options = parse()
    is_file = options.pack.name.endswith(".tar.xz")
    with tempfile.TemporaryDirectory() as work:
        bundle = pathlib.Path(work) / "check-cuda" if is_file else options.pack
        bundle.mkdir(parents=True, exist_ok=True)
        right = True
        for part in ["runtime"] + [part for part in PARTS[1:] if part in options.parts]:
            say(part)
            function = globals()["pack_" + part.replace("-", "_")]
            right = function(bundle, options) is not False and right
        if is_file:
            call("tar", "-C", work, "-c", "-f", options.pack, "--use-compress-program=xz -T0 -9",
                 "check-cuda")
            say(f"{options.pack}: {options.pack.stat().st_size >> 20} MiB; on the GPU machine: "
                f"tar xf {options.pack.name} && check-cuda/check")
        else:
            say(f"on the GPU machine: {options.pack}/check")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
