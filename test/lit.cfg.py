# The lit suite of mx: test suffixes, formats, substitutions and features.

import os
import shutil
import sys

import lit.util
from lit.llvm import llvm_config

sys.path += [os.path.join(config.mx_src_root, d) for d in ("scripts", "simulator/scripts", "simulator/test/python", "test/python")]
import mx_suite
from mx_lit import SANITIZERS_SLOWDOWN, MXTest, python_with_sanitizers, use_libfuzzer

config.name = "MX"
config.suffixes = [".mlir", ".ptx", ".test", ".py"]
config.excludes = ["Inputs", "python", "lit.cfg.py", "lit.local.cfg", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mx_obj_root, "test")

config.mx_tools_dir = os.path.join(config.mx_obj_root, "bin")
config.mx_library_dir = os.path.join(config.mx_obj_root, "lib")
config.mx_python_dir = os.path.join(config.mx_src_root, "python")

# --param tier=default excludes the tests of the slow tier, --param tier=all includes them. Both report the tier and the
# processor time of each test. Without this parameter, for example in manual runs, all named tests run.
tier = lit_config.params.get("tier")
if tier not in (None, "default", "all"):
    lit_config.fatal(f"expected --param tier=default or tier=all, found tier={tier}")
# A test that hangs should fail, not stop the suite. lit needs psutil for that.
can_kill, _ = lit.util.killProcessAndChildrenIsSupported()
ends_hanging = can_kill and not lit_config.maxIndividualTestTime
config.test_format = MXTest(
    config.mx_build_compiler, tier, SANITIZERS_SLOWDOWN if config.mx_sanitize else 1, ends_hanging)

# --- Environment -------------------------------------------------------------

llvm_config.with_system_environment(["MX_ELEMENT_ROWS", "MX_ELEMENT_SECONDS", "MX_ELEMENT_SEED"])
config.environment["PYTHONPATH"] = os.path.join(config.mx_src_root, "test/python")
for name, value in {
    # For foreign programs, mainly Python; see simulator/cmake/SanitizerOptions.c.
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    # Our own kernels cause no warnings. Tests of warnings set MX_SIM_WARNINGS=print.
    "MX_SIM_WARNINGS": "error",
    # Cache of mx.compile; tests of the cache use separate folders.
    "MX_CACHE_DIR": os.path.join(config.test_exec_root, "python-cache"),
}.items():
    config.environment[name] = os.environ.get(name, value)

# PyTorch is too large to require for the suite (scripts/setup --torch).
torch_python = os.environ.get("MX_TORCH_PYTHON") or config.mx_python
torchao_python = os.environ.get("MX_TORCHAO_PYTHON") or torch_python
for name, path in ("MX_TORCH_PYTHON", torch_python), ("MX_TORCHAO_PYTHON", torchao_python):
    if not shutil.which(path):
        lit_config.fatal(f"{name}: expected the path of a Python, found '{path}'")

# --- Features for any suite with mx ---------------------------------------------

# MX_CHECK_ROUNDTRIP=1 makes every mx-opt of the suite print its input, parse it again and compare.
commands = {name: os.path.join(config.mx_tools_dir, name) for name in config.mx_built_tools}
if os.environ.get("MX_CHECK_ROUNDTRIP") and "mx-opt" in commands:
    commands["mx-opt"] += " --verify-roundtrip"
mx_suite.use(config, commands, config.mx_src_root)

# --- Substitutions -----------------------------------------------------------

python = config.mx_python
if config.mx_sanitize:
    python = python_with_sanitizers(config.mx_cxx_compiler, python, config.test_exec_root)
    torch_python = python_with_sanitizers(config.mx_cxx_compiler, torch_python, config.test_exec_root, "torch-python3-with-sanitizers")
    torchao_python = python_with_sanitizers(config.mx_cxx_compiler, torchao_python, config.test_exec_root, "torchao-python3-with-sanitizers")

config.substitutions += [
    ("%mx_src", config.mx_src_root),
    ("%mx_obj", config.mx_obj_root),
    ("%mlir_include", config.mlir_include_dir),
    ("%expand_cases", f'"{python}" {config.mx_src_root}/test/python/expand_cases.py'),
    # These substitutions precede %python, which is a prefix of their names.
    ("%python_torchao", f'"{torchao_python}"'),
    ("%python_torch", f'"{torch_python}"'),
    ("%python_dir", os.path.dirname(config.mx_python)),
    ("%python", f'"{python}"'),
    ("%cmake", config.mx_cmake),
    ("%lit", config.mx_lit),
    ("%ninja", config.mx_ninja),
    # Programs that link instrumented libraries preload their dependencies.
    ("%cxx", config.mx_cxx_compiler + (f" -fsanitize={config.mx_sanitize}" if config.mx_sanitize else "")),
    ("%mlir_dir", config.mlir_dir),
    ("%env_path", config.environment["PATH"]),
    # Number of schedules in sweep.test.
    ("%sweep_sample", os.environ.get("MX_SWEEP_SAMPLE", "48")),
    ("%examples", os.path.join(config.mx_src_root, "examples")),
]

# --- Features ----------------------------------------------------------------

TORCHAO_PROBE = """
import ml_dtypes, numpy, sys
from importlib.util import find_spec
sys.exit(not (find_spec("torch") and find_spec("torchao")))
"""

# Packages that a feature needs. Only located, because an import takes seconds.
LOCATED = {"compressed-tensors": ["compressed_tensors"], "cupy": ["cupy"], "cute-dsl": ["cutlass"], "mypy": ["mypy"],
           "peft": ["peft", "transformers"], "pytest": ["pytest"], "tilelang": ["tilelang"], "torchtitan": ["torchtitan"],
           "transformers": ["transformers"], "triton": ["triton"], "vllm": ["vllm"]}

features = config.available_features
if can_kill:
    features.add("ends-hanging")
use_libfuzzer(config)
if shutil.which("node"):
    features.add("node")
if mx_suite.probe("import numpy, ml_dtypes", config.mx_python) is not None:
    features.add("numpy")
if mx_suite.probe("import codespell_lib, material, mkdocs", config.mx_python) is not None:
    features.add("docs-tools")
torch_probe = os.path.join(config.mx_src_root, "scripts", "torch_probe.py")
with open(torch_probe) as f:
    if mx_suite.probe(f.read(), torch_python) is not None:
        features.add("torch")
for feature, packages in LOCATED.items():
    probe = f"import sys\nfrom importlib.util import find_spec\nsys.exit(not all(map(find_spec, {packages})))"
    if mx_suite.probe(probe, torch_python) is not None:
        features.add(feature)
if mx_suite.probe(TORCHAO_PROBE, torchao_python) is not None:
    features.add("torchao")
if config.mx_build_compiler:
    # Required if built: a missing feature is a failure.
    features.update(["compiler", "plugin"])
if config.mx_python_extension:
    features.add("python-extension")
# Features wheel and wheel-runtime, if the build includes these targets.
if mx_suite.probe("import auditwheel, scikit_build_core", config.mx_python) is not None:
    features.update(config.mx_wheels)
for program in ("mmdebstrap", "qemu-aarch64-static", "aarch64-linux-gnu-g++"):
    if shutil.which(program):
        features.add(program)
if config.mx_sanitize:
    # Stock mlir-opt is not instrumented.
    features.discard("plugin")
    # nvcc crashes with the library that python_with_sanitizers preloads.
    features.discard("nvcc")
    features.add("sanitizers")
