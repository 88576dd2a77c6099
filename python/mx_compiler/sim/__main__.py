# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a Python program on the simulator (simulator/docs/Python.md):

    mx-sim run --chip=h200 python3 -m mx_compiler.sim program.py"""

import ctypes
import functools
import glob
import importlib.util
import os
import pathlib
import re
import runpy
import sys
import tempfile
import warnings
from typing import Any


def compute_on_host() -> Any:
    """Makes PyTorch compute on the host, since its kernels are machine code. Tensors stay in device memory."""
    import torch
    from torch.utils._pytree import tree_map_only

    def copy(to, source, size):
        simulator.cudaMemcpy(*map(ctypes.c_void_p, (to.data_ptr(), source.data_ptr(), size)), 4)
        return to

    def compute(op, *arguments, **options):
        storages, tensors = {}, []

        def mirror(tensor):
            """Tensor on the host with the same strides. Tensors of a storage share its copy."""
            storage = tensor.untyped_storage()
            if not tensor.is_cuda:
                return tensor
            if storage._cdata not in storages:
                storages[storage._cdata] = copy(torch.UntypedStorage(storage.nbytes()), storage, storage.nbytes())
            host = torch.empty(0, dtype=tensor.dtype).set_(
                storages[storage._cdata], tensor.storage_offset(), tensor.size(), tensor.stride())
            tensors.append((tensor, host))
            return host

        def restore(host):
            for tensor, mirrored in tensors:
                if host is mirrored:
                    return tensor
            host = host.clone()
            return host if device == "cpu" else copy(torch.empty_like(host, device=device), host, host.nbytes)

        arguments, options = tree_map_only(torch.Tensor, mirror, (arguments, options))
        device = torch.device(options.get("device") or ("cuda" if tensors else "cpu")).type
        result = op(*arguments, **{**options, **{name: value for name, value in (("device", "cpu"), ("generator", None))
                                                 if name in options}})
        for tensor, host in tensors if op._schema.is_mutable else ():
            if tensor.shape != host.shape:
                tensor.resize_(host.shape)
            copy(tensor.untyped_storage(), host.untyped_storage(), host.untyped_storage().nbytes())
        return tree_map_only(torch.Tensor, restore, result)

    library = torch.library.Library("aten", "IMPL")
    warnings.filterwarnings("ignore", "Warning only once for all operators")
    for name in ["aten::copy_", *torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")]:
        space, packet, overload = re.fullmatch(r"(\w+)::(\w+)\.?(\w*)", name).groups()
        op = getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
        if space == "aten" and not op.is_view and not re.match("_?(empty|resize|set_|record_stream|local)", packet):
            library.impl(op, functools.partial(compute, op), "CUDA", allow_override=True)
    return library


def use_ptx() -> Any:
    """Makes CuTe DSL load PTX, and cuda.bindings, a CUDA runtime without symbols, call the simulator."""
    folder = tempfile.TemporaryDirectory()
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    import cuda.bindings.cyruntime
    from cutlass._mlir import ir
    from cutlass.base_dsl.compiler import Compiler

    def compile(self, module, pipeline, *arguments, compile=Compiler.compile, **options):
        if "dump-ptx-path" not in pipeline:
            pipeline = pipeline.replace("cubin-format", f"dump-ptx-path='{folder.name}/kernel' cubin-format", 1)
        compile(self, module, pipeline, *arguments, **options)
        for op in module.body.operations:
            if op.name != "llvm.mlir.global" or op.attributes["sym_name"].value != "kernels_binary":
                continue
            # CuTe DSL adds the architecture to these paths.
            files = {kind: max(map(pathlib.Path, glob.glob(f"{glob.escape(path)}.*{kind}")), key=os.path.getmtime)
                     for kind, path in re.findall("dump-(ptx|cubin)-path='([^']*)'", pipeline)}
            ptx = files["ptx"].read_bytes() + b"\0"
            if "cubin" in files:
                files["cubin"].write_bytes(ptx)
            with module.context:
                op.attributes["value"] = ir.StringAttr.get(ptx)
                op.attributes["global_type"] = ir.TypeAttr.parse(f"!llvm.array<{len(ptx)} x i8>")
        return module

    Compiler.compile = compile
    audit, api = ctypes.CDLL("libmxsim-audit.so"), ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetPointer.restype = ctypes.c_char_p, ctypes.c_void_p
    for name, capsule in cuda.bindings.cyruntime.__pyx_capi__.items():
        if hasattr(simulator, name):
            capsule = ctypes.py_object(capsule)
            address = api.PyCapsule_GetPointer(capsule, ctypes.c_char_p(api.PyCapsule_GetName(capsule)))
            audit.mxSimRedirect(ctypes.c_void_p(address), getattr(simulator, name))
    return folder


if __name__ == "__main__":
    if "libmxsim-cuda.so" not in os.environ.get("LD_PRELOAD", "") or len(sys.argv) < 2:
        sys.exit("usage: mx-sim run python3 -m mx_compiler.sim PROGRAM.py [ARGUMENTS...]")
    simulator = ctypes.CDLL("libmxsim-cuda.so")
    os.environ.update(CUPY_COMPILE_WITH_PTX="1", CUPY_ACCELERATORS="")
    kept = [install() for package, install in (("torch", compute_on_host), ("cutlass", use_ptx))
            if importlib.util.find_spec(package)]
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
