"""Provides mx to a lit suite: program names, library folders, and features for the machine. mx's
own suite uses this module, and it is installed for other suites (docs/guide/Embedding.md):

    sys.path.insert(0, config.mx_lit_dir)     # MX_LIT_DIR of find_package(MX)
    import mx_suite
    mx_suite.use(config)

`config` contains the folders, which are also variables of find_package(MX) and LLVM:

    mx_tools_dir      MX_TOOLS_DIR               mx-opt, mx-run, ...
    mx_library_dir    MX_LIBRARY_DIR             libmx_runtime, libMXCAPI, MXPlugin
    mx_python_dir     MX_PYTHON_DIR              the folder for `import mx_compiler`
    llvm_tools_dir    LLVM_TOOLS_BINARY_DIR      FileCheck, mlir-opt, ...
    llvm_libs_dir     LLVM_LIBRARY_DIR
    llvm_shlib_ext    CMAKE_SHARED_LIBRARY_SUFFIX

and `use` adds:

    tools          mx-opt, mx-translate, mx-run, mx-compile, mx-launch, mx-sim, FileCheck, not,
                   count, split-file, mlir-opt, mlir-translate, mlir-runner, mlir-cat
    substitutions  %mx_libs, %mx_plugin, %mx_capi, %mlir_libs, %mlir_tools, %shlibext
    features       compiler, plugin, ptxas, nvcc, cuda-gpu and smNN (its chip),
                   cuda-gpus if there are several
    environment    MX_RUNTIME, PYTHONPATH, PATH, FILECHECK_OPTS; and MX_QUIET, because tests compare standard
                   error. A test that expects a notice (docs/guide/Run.md) sets MX_QUIET=
"""

import os
import shutil
import subprocess
import sys

from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

import find_ptxas

TOOLS = ["mx-opt", "mx-translate", "mx-run", "mx-compile", "mx-launch", "mx-sim", "mx-lsp-server"]
MLIR_TOOLS = ["mlir-opt", "mlir-translate", "mlir-runner", "mlir-cat"]
TEST_TOOLS = ["FileCheck", "count", "not", "split-file"]

# Each probe runs in a separate process, because a crash must not end lit.
CUDA_PROBE = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
count, major, minor = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    sys.exit(1)
cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
print(f"sm{major.value}{minor.value}", *["cuda-gpus"] * (count.value > 1))
"""


def probe(code, python=sys.executable):
    """Returns the output of a Python program, or None if it fails."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else None


def library(config, name):
    return os.path.join(config.mx_library_dir, name + config.llvm_shlib_ext)


def use_environment(config, ptxas):
    llvm_config.with_system_environment(["HOME", "TMPDIR", "CUDA_HOME"])
    config.environment.setdefault("FILECHECK_OPTS", "-enable-var-scope")
    config.environment["MX_RUNTIME"] = library(config, "libmx_runtime")
    config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    config.environment["MX_QUIET"] = "1"
    llvm_config.with_environment("PYTHONPATH", config.mx_python_dir, append_path=True)
    for folder in (ptxas and os.path.dirname(ptxas), config.llvm_tools_dir, config.mx_tools_dir):
        if folder:
            llvm_config.with_environment("PATH", folder, append_path=True)


def use_tools(config, commands):
    """Adds a substitution for each program name. `commands` contains command lines for programs that need more than
    their path."""
    tools = {name: os.path.join(config.mx_tools_dir, name) for name in TOOLS}
    tools.update({name: name for name in MLIR_TOOLS})
    tools.update(commands)
    known = [ToolSubst(name, command, unresolved="ignore") for name, command in tools.items()]
    known += [ToolSubst(name) for name in TEST_TOOLS]
    llvm_config.add_tool_substitutions(known, [config.mx_tools_dir, config.llvm_tools_dir])


def use_features(config, ptxas):
    features = config.available_features
    if os.path.exists(os.path.join(config.mx_tools_dir, "mx-opt")):
        features.add("compiler")
    if os.path.exists(library(config, "MXPlugin")):
        features.add("plugin")
    if ptxas:
        features.add("ptxas")
        if shutil.which("nvcc", path=config.environment["PATH"]):
            features.add("nvcc")
    if gpus := probe(CUDA_PROBE):
        features.update(["cuda-gpu", *gpus.split()])


def use(config, commands=None, root=None):
    """Adds all of the above to `config`. `commands` maps further program names to paths. A .venv in the folder `root`
    may contain a ptxas."""
    ptxas = find_ptxas.find_ptxas(root or os.getcwd())
    use_environment(config, ptxas)
    config.substitutions += [
        ("%mx_libs", config.mx_library_dir),
        ("%mx_plugin", library(config, "MXPlugin")),
        ("%mx_capi", library(config, "libMXCAPI")),
        ("%mlir_libs", config.llvm_libs_dir),
        ("%mlir_tools", config.llvm_tools_dir),
        ("%shlibext", config.llvm_shlib_ext),
    ]
    use_tools(config, commands or {})
    use_features(config, ptxas)
