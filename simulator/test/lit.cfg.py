# The lit suite of the simulator. Needs lit and filecheck from PyPI, and no LLVM.

import os
import shutil
import subprocess
import sys

import lit.util

sys.path += [os.path.join(config.sim_source, d) for d in ("scripts", "test/python")]
import find_ptxas
from mx_lit import SANITIZERS_SLOWDOWN, MXTest, python_with_sanitizers, use_libfuzzer

config.name = "mx-sim"
config.suffixes = [".ptx", ".test", ".py"]
config.excludes = ["Inputs", "python", "conformance", "lit.cfg.py", "lit.local.cfg", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.sim_tests

tier = lit_config.params.get("tier")
if tier not in (None, "default", "all"):
    lit_config.fatal(f"expected --param tier=default or tier=all, found tier={tier}")
can_kill, _ = lit.util.killProcessAndChildrenIsSupported()
ends_hanging = can_kill and not lit_config.maxIndividualTestTime
slowdown = SANITIZERS_SLOWDOWN if config.sim_sanitize else 1
config.test_format = MXTest(True, tier, slowdown, ends_hanging)

# --- Environment -------------------------------------------------------------

ptxas = find_ptxas.find_ptxas(config.sim_root)
folders = [os.path.join(config.sim_source, "test/python/bin"), config.sim_tools, os.path.dirname(config.sim_python)]
folders += [os.path.dirname(ptxas)] if ptxas else []
config.environment["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])
for name in ("HOME", "TMPDIR", "CUDA_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
for name, value in {
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    # Warnings of kernels fail a test unless the test expects them.
    "MX_SIM_WARNINGS": "error",
    "MX_QUIET": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}.items():
    config.environment[name] = os.environ.get(name, value)

python = config.sim_python
if config.sim_sanitize:
    python = python_with_sanitizers(config.sim_cxx, python, config.test_exec_root)
config.substitutions += [
    ("%sim_source", config.sim_source),
    ("%python", f'"{python}"'),
    ("%cmake", config.sim_cmake),
    ("%ninja", config.sim_ninja),
    ("FileCheck", "filecheck --enable-var-scope"),
]

# --- Features ----------------------------------------------------------------

features = config.available_features
if can_kill:
    features.add("ends-hanging")
if ptxas:
    features.add("ptxas")
    if shutil.which("nvcc", path=config.environment["PATH"]):
        features.add("nvcc")
        if os.path.exists(os.path.join(config.sim_tools, "../lib/mx-sim/libcuda.so.1")):
            features.add("cuda-library")
if shutil.which("node"):
    features.add("node")
if subprocess.run([config.sim_python, "-c", "import numpy, ml_dtypes"], capture_output=True).returncode == 0:
    features.add("numpy")
if subprocess.run([config.sim_python, "-c", "import yaml"], capture_output=True).returncode == 0:
    features.add("yaml")
use_libfuzzer(config)
if config.sim_sanitize:
    # nvcc crashes if python_with_sanitizers preloads the sanitizer library.
    features -= {"nvcc", "cuda-library"}
    features.add("sanitizers")
