"""Runs cases on a GPU through libmx_runtime."""

import ctypes
import os
import struct

TYPES = (
    "u8 u16 u32 i32 u64 i64 f16 f32 f64 bf16 f32_ftz tf32 tf32_ftz "
    "u4_align8 u4_align16 u6_align16"
).split()
SWIZZLES = "none 32b 64b 128b 128b_atom32 128b_atom32_flip8 128b_atom64".split()
INTERLEAVES = "none 16b 32b".split()
L2 = "none 64b 128b 256b".split()
FILLS = "zero nan".split()
SCALARS = {
    "i8": "<B",
    "u8": "<B",
    "i16": "<H",
    "u16": "<H",
    "i32": "<I",
    "u32": "<I",
    "i64": "<Q",
    "u64": "<Q",
    "f32": "<f",
    "f64": "<d",
}


class LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("structSize", ctypes.c_size_t),
        ("grid", ctypes.c_int64 * 3),
        ("block", ctypes.c_int64 * 3),
        ("cluster", ctypes.c_int64 * 3),
        ("dynamicSharedMemory", ctypes.c_int64),
        ("stream", ctypes.c_void_p),
        ("flags", ctypes.c_int32),
    ]


class KernelError(Exception):
    """Failed call of the runtime. After a fault, the GPU accepts no
    further launches from this process."""


class Device:
    def __init__(self, library, name):
        self.library = ctypes.CDLL(library)
        self.library.mxStatusName.restype = ctypes.c_char_p
        self.library.mxGetLastError.restype = ctypes.c_char_p
        self.library.mxSetErrorPolicy(1)
        self.call("mxSetDevice", name.encode())
        self.modules = {}

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            name = self.library.mxStatusName(status).decode()
            text = self.library.mxGetLastError().decode(errors="replace")
            self.library.mxClearError()
            raise KernelError(f"{name}: {text}")

    def module(self, group):
        if group.name not in self.modules:
            self.modules[group.name] = None
            text = group.ptx().encode()
            module = ctypes.c_void_p()
            self.call(
                "mxModuleLoad",
                ctypes.byref(module),
                text,
                ctypes.c_size_t(len(text)),
                group.name.encode(),
            )
            self.modules[group.name] = module
        if self.modules[group.name] is None:
            raise KernelError("the module did not load")
        return self.modules[group.name]

    def run(self, case):
        """Returns the bytes of each output."""
        module, launch = self.module(case.group), case.launch
        addresses, sizes = {}, {}
        try:
            for name, buffer in launch["buffers"].items():
                data = buffer.get("data")
                if data is None:
                    fill = {"ff": 255, "zero": 0}[buffer["fill"]]
                    data = bytes([fill]) * buffer["bytes"]
                addresses[name] = self.allocate(len(data))
                sizes[name] = len(data)
                self.copy_in(addresses[name], data)
            maps = {
                name: self.tensor_map(m, addresses)
                for name, m in launch.get("tensor_maps", {}).items()
            }
            for name, buffer in launch["buffers"].items():
                for patch in buffer.get("patch", []):
                    value = self.value(patch, addresses, maps, "buffer_offset")
                    at = addresses[name].value + patch["offset"]
                    self.copy_in(ctypes.c_void_p(at), value)
            self.launch(module, launch, addresses, maps)
            self.call("mxSynchronize")
            outputs = {}
            for name in filter(sizes.get, case.outputs):
                data = ctypes.create_string_buffer(sizes[name])
                self.call(
                    "mxMemcpyToHost",
                    data,
                    addresses[name],
                    ctypes.c_size_t(sizes[name]),
                    None,
                )
                outputs[name] = data.raw
            return outputs
        finally:
            for address in addresses.values():
                self.library.mxMemFree(address)
            self.library.mxClearError()

    def allocate(self, size):
        address = ctypes.c_void_p()
        self.call("mxMemAlloc", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def copy_in(self, address, data):
        self.call(
            "mxMemcpyToDevice", address, bytes(data), ctypes.c_size_t(len(data)), None
        )

    def value(self, value, addresses, maps, offset="offset"):
        if "buffer" in value:
            address = addresses[value["buffer"]].value
            return struct.pack("<Q", address + value.get(offset, 0))
        if "tensor_map" in value:
            return maps[value["tensor_map"]]
        if "bytes" in value:
            return bytes.fromhex(value["bytes"])
        for kind, code in SCALARS.items():
            if kind in value:
                number = value[kind]
                if kind[0] != "f":
                    number &= (1 << int(kind[1:])) - 1
                return struct.pack(code, number)
        raise ValueError(value)

    def tensor_map(self, m, addresses):
        rank = len(m["dims"])

        def array(kind, values):
            return (kind * len(values))(*values)

        image = (ctypes.c_uint8 * 192)()
        # The driver requires the result to be 64-byte aligned.
        at = -ctypes.addressof(image) % 64
        self.call(
            "mxTensorMapEncodeTiled",
            ctypes.byref(image, at),
            TYPES.index(m["type"]),
            rank,
            ctypes.c_void_p(addresses[m["buffer"]].value + m.get("offset", 0)),
            array(ctypes.c_int64, m["dims"]),
            array(ctypes.c_int64, m.get("strides", []) or [0]),
            array(ctypes.c_int32, m["box"]),
            array(ctypes.c_int32, m.get("element_strides", [1] * rank)),
            INTERLEAVES.index(m.get("interleave", "none")),
            SWIZZLES.index(m.get("swizzle", "none")),
            L2.index(m.get("l2", "none")),
            FILLS.index(m.get("oob", "zero")),
        )
        return bytes(image[at : at + 128])

    def launch(self, module, described, addresses, maps):
        function = ctypes.c_void_p()
        self.call(
            "mxModuleGetFunction",
            ctypes.byref(function),
            module,
            described["kernel"].encode(),
        )
        config = LaunchConfig(ctypes.sizeof(LaunchConfig))
        config.grid[:] = described["grid"]
        config.block[:] = described["block"]
        config.cluster[:] = described.get("cluster", [0, 0, 0])
        config.dynamicSharedMemory = described.get("dynamic_smem", 0)
        keep = [
            ctypes.create_string_buffer(self.value(a, addresses, maps))
            for a in described["args"]
        ]
        values = (ctypes.c_void_p * max(len(keep), 1))(
            *(ctypes.addressof(k) for k in keep)
        )
        self.call(
            "mxLaunch",
            function,
            ctypes.byref(config),
            values,
            ctypes.c_int64(len(keep)),
        )


def find_library(root):
    """Returns the path of libmx_runtime.so: MX_RUNTIME_LIBRARY or the most recent build."""
    named = os.environ.get("MX_RUNTIME_LIBRARY")
    if named:
        return named
    found = []
    build = os.path.join(root, "build")
    for directory, _, files in os.walk(build):
        if "libmx_runtime.so" in files:
            found.append(os.path.join(directory, "libmx_runtime.so"))
    return max(found, key=os.path.getmtime) if found else None
