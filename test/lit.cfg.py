# The lit suite of mx: what a test file may be called, which programs it may
# use and which features it may require.

import os
import shutil
import subprocess
import sys

import lit.util
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

sys.path += [os.path.join(config.mx_src_root, d) for d in ("scripts", "test/python")]
import find_ptxas
from mx_lit import MXTest

config.name = "MX"
config.suffixes = [".mlir", ".ptx", ".test", ".py"]
config.excludes = ["Inputs", "python", "lit.cfg.py", "lit.local.cfg", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mx_obj_root, "test")

bin_dir = os.path.join(config.mx_obj_root, "bin")
lib_dir = os.path.join(config.mx_obj_root, "lib")

# --param tier=default leaves out the tests of the slow tier, --param tier=all
# does not. Both report of each test its tier and its processor time; without
# them, as by hand, the tests that are named run.
tier = lit_config.params.get("tier")
if tier not in (None, "default", "all"):
    lit_config.fatal(f"expected --param tier=default or tier=all, found tier={tier}")
config.test_format = MXTest(config.mx_build_compiler, tier)

# A test that hangs should fail, not stop the suite. lit needs psutil for that.
can_kill, _ = lit.util.killProcessAndChildrenIsSupported()
if can_kill and not lit_config.maxIndividualTestTime:
    lit_config.maxIndividualTestTime = 600

# --- Environment -------------------------------------------------------------

llvm_config.with_system_environment(
    ["HOME", "TMPDIR", "CUDA_HOME", "MX_ELEMENT_SECONDS", "MX_ELEMENT_SEED"]
)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.environment["PYTHONPATH"] = os.pathsep.join(
    os.path.join(config.mx_src_root, d) for d in ("test/python", "python")
)
config.environment["MX_RUNTIME"] = os.path.join(
    lib_dir, "libmx_runtime" + config.llvm_shlib_ext
)
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
for name, value in {
    # LLVM's own libraries are not instrumented, and its global tables are
    # never freed.
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}.items():
    config.environment[name] = os.environ.get(name, value)

ptxas = find_ptxas.find_ptxas(config.mx_src_root)
if ptxas:
    llvm_config.with_environment("PATH", os.path.dirname(ptxas), append_path=True)
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", bin_dir, append_path=True)

# PyTorch is too large for a requirement of the suite.
torchao_python = os.environ.get("MX_TORCHAO_PYTHON", config.mx_python)

# --- Substitutions -----------------------------------------------------------

config.substitutions += [
    ("%mx_src", config.mx_src_root),
    ("%mx_obj", config.mx_obj_root),
    ("%mx_libs", lib_dir),
    ("%mlir_tools", config.llvm_tools_dir),
    ("%mlir_include", config.mlir_include_dir),
    ("%mlir_libs", config.llvm_libs_dir),
    ("%shlibext", config.llvm_shlib_ext),
    # Before %python, which is its beginning.
    ("%python_torchao", f'"{torchao_python}"'),
    ("%python", f'"{config.mx_python}"'),
    ("%cmake", config.mx_cmake),
    ("%lit", config.mx_lit),
    ("%ninja", config.mx_ninja),
    ("%cxx", config.mx_cxx_compiler),
    ("%mlir_dir", config.mlir_dir),
    ("%env_path", config.environment["PATH"]),
    # How many schedules sweep.test runs.
    ("%sweep_sample", os.environ.get("MX_SWEEP_SAMPLE", "48")),
    ("%examples", os.path.join(config.mx_src_root, "examples")),
]

# Ours first. MX_CHECK_ROUNDTRIP=1 makes every mx-opt of the suite print its
# input, parse it again and compare.
commands = {name: os.path.join(bin_dir, name) for name in config.mx_built_tools}
if os.environ.get("MX_CHECK_ROUNDTRIP") and "mx-opt" in commands:
    commands["mx-opt"] += " --verify-roundtrip"
for name in ["mlir-opt", "mlir-translate", "mlir-runner", "mlir-cat"]:
    commands[name] = name
tools = [ToolSubst(key, cmd, unresolved="ignore") for key, cmd in commands.items()]
tools += [ToolSubst(name) for name in ["FileCheck", "count", "not", "split-file"]]
llvm_config.add_tool_substitutions(tools, [bin_dir, config.llvm_tools_dir])

# --- Features ----------------------------------------------------------------

# A probe that crashes must not take lit with it, so each runs in a process.
CUDA_PROBE = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
count, major, minor = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    sys.exit(1)
cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
print(f"sm{major.value}{minor.value}")
"""

TORCHAO_PROBE = """
import ml_dtypes, numpy, sys
from importlib.util import find_spec
sys.exit(not (find_spec("torch") and find_spec("torchao")))
"""


def probe(code, python=config.mx_python):
    """The output of a Python program, or None where it fails."""
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip() if done.returncode == 0 else None


features = config.available_features
clang = shutil.which("clang-22") or shutil.which("clang")
clangxx = clang and shutil.which(os.path.basename(clang).replace("clang", "clang++"))
if clangxx:
    # libFuzzer comes with clang's run-time libraries, a package of its own.
    folder = subprocess.run(
        [clang, "-print-runtime-dir"], capture_output=True, text=True
    ).stdout.strip()
    if os.path.isdir(folder) and any("fuzzer" in name for name in os.listdir(folder)):
        features.add("libfuzzer")
        config.substitutions += [("%fuzz_cc", clang), ("%fuzz_cxx", clangxx)]
if config.mx_build_compiler:
    features.add("compiler")
if ptxas:
    features.add("ptxas")
    if shutil.which("nvcc", path=config.environment["PATH"]):
        features.add("nvcc")
if shutil.which("node"):
    features.add("node")
if probe("import numpy, ml_dtypes") is not None:
    features.add("numpy")
# Found, not imported: that takes seconds.
if probe(TORCHAO_PROBE, torchao_python) is not None:
    features.add("torchao")
if config.mx_have_plugin:
    features.add("plugin")
if config.mx_sanitize:
    features.add("sanitizers")
gpu = probe(CUDA_PROBE)
if gpu:
    features.update(["cuda-gpu", gpu])
