"""Groups of kernels and their launches. A group is one PTX module; a case is
one launch of one kernel of the group, described by the keys of a launch file
(simulator/docs/LaunchFile.md). Everything is generated from tables with fixed seeds by
the standard library alone, so all machines generate the same bytes."""

import json
import os
import random
import struct

SIZES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


class Case:
    def __init__(self, group, name, launch, outputs, traits):
        self.group, self.name = group, name
        self.launch, self.outputs, self.traits = launch, outputs, traits


class Group:
    """Kernels of one PTX module. `version` is the lowest PTX ISA version that supports all of its kernels."""

    def __init__(self, name, version="8.0", target="sm_90a"):
        self.name, self.version, self.target = name, version, target
        self.declarations, self.entries, self.cases = [], {}, []

    def ptx(self):
        head = [
            f".version {self.version}",
            f".target {self.target}",
            ".address_size 64",
        ]
        return "\n".join(head + self.declarations + list(self.entries.values()) + [""])

    def declare(self, text):
        self.declarations.append(text)

    def entry(self, name, params, body, directives=""):
        """Adds an entry. `params` contains declarations such as "u64 out". The body may use the
        registers %p, %h, %r and %rd of 1, 16, 32 and 64 bits, and define labels."""
        assert name not in self.entries, name
        text = ", ".join(" p_".join(f".param .{p}".rsplit(" ", 1)) for p in params)
        self.entries[name] = (
            f".visible .entry {name}({text})\n{directives}{{\n"
            "  .reg .pred %p<16>;\n  .reg .b16 %h<64>;\n"
            "  .reg .b32 %r<256>;\n  .reg .b64 %rd<64>;\n"
            + "\n".join(f"  {line.strip()}" for line in body.strip().split("\n"))
            + "\n}"
        )
        return name

    def case(
        self,
        name,
        kernel=None,
        grid=1,
        block=32,
        cluster=None,
        smem=0,
        buffers=None,
        args=(),
        outputs=("out",),
        tensor_maps=None,
        launch=None,
        **traits,
    ):
        """Adds a launch of a kernel. `buffers` maps names to contents, or to sizes of buffers
        that are filled with 0xff. An item of `args` is the name of a buffer, an int (passed
        as u32), or a value in the form of a launch file."""
        assert all(c.name != name for c in self.cases), name
        described = {"kernel": kernel or name, "grid": triple(grid)}
        described["block"] = triple(block)
        if cluster:
            described["cluster"] = triple(cluster)
        if smem:
            described["dynamic_smem"] = smem
        described["buffers"] = {
            key: (
                value
                if isinstance(value, dict)
                else (
                    {"bytes": value, "fill": "ff"}
                    if isinstance(value, int)
                    else {"data": bytes(value)}
                )
            )
            for key, value in (buffers or {}).items()
        }
        if tensor_maps:
            described["tensor_maps"] = tensor_maps
        described["args"] = [
            (
                {"buffer": a}
                if isinstance(a, str)
                else {"u32": a & 0xFFFFFFFF} if isinstance(a, int) else a
            )
            for a in args
        ]
        described.update(launch or {})
        case = Case(self, name, described, list(outputs), traits)
        self.cases.append(case)
        return case

    def elementwise(self, name, body, ins, outs, data, **traits):
        """Adds a kernel with one thread per element and a launch of it. `body` reads operands
        from %a0, %a1, ... and writes results to %d0, %d1, ...; `ins` and `outs` are their
        types. `data` contains the operand arrays."""
        regs = [f".reg .{reg_type(t)} %a{i};" for i, t in enumerate(ins)]
        regs += [f".reg .{reg_type(t)} %d{i};" for i, t in enumerate(outs)]
        params = [f"u64 in{i}" for i in range(len(ins))]
        params += [f"u64 out{i}" for i in range(len(outs))] + ["u32 n"]
        lines = ["{", *regs, ".reg .b32 %i, %n;", ".reg .b64 %x;", ".reg .pred %past;"]
        lines += [
            "mov.u32 %i, %ctaid.x;",
            "mov.u32 %n, %tid.x;",
            "mad.lo.u32 %i, %i, 128, %n;",
            "ld.param.u32 %n, [p_n];",
            "setp.ge.u32 %past, %i, %n;",
            "@%past ret;",
        ]
        for i, t in enumerate(ins):
            lines += [
                f"ld.param.u64 %x, [p_in{i}];",
                f"mad.wide.u32 %x, %i, {SIZES[t]}, %x;",
                f"ld.global.{load_type(t)} %a{i}, [%x];",
            ]
        lines += body.strip().split("\n")
        for i, t in enumerate(outs):
            lines += [
                f"ld.param.u64 %x, [p_out{i}];",
                f"mad.wide.u32 %x, %i, {SIZES[t]}, %x;",
                f"st.global.{load_type(t)} [%x], %d{i};",
            ]
        lines += ["}", "ret;"]
        self.entry(name, params, "\n".join(lines))
        count = len(data[0]) // SIZES[ins[0]]
        for t, array in zip(ins, data):
            assert len(array) == count * SIZES[t], name
        buffers = {f"in{i}": array for i, array in enumerate(data)}
        outputs = [f"out{i}" for i in range(len(outs))]
        buffers.update({o: count * SIZES[t] for o, t in zip(outputs, outs)})
        return self.case(
            name,
            grid=(count + 127) // 128,
            block=128,
            buffers=buffers,
            args=[*buffers, count],
            outputs=outputs,
            sizes=[SIZES[t] for t in outs],
            **traits,
        )


def triple(value):
    value = (value,) if isinstance(value, int) else tuple(value)
    return list(value + (1,) * (3 - len(value)))


def reg_type(t):
    return "b16" if t == "b8" else t


def load_type(t):
    return "u8" if t == "b8" else t


def name_of(instruction):
    """Returns the kernel name for an instruction."""
    return "".join(c if c.isalnum() else "_" for c in instruction)


def pack(size, values):
    mask = (1 << 8 * size) - 1
    code = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
    return struct.pack(f"<{len(values)}{code}", *(v & mask for v in values))


def unpack(size, data):
    code = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def linear_index(*dimensions):
    """Returns code that computes the linear index of a CTA or thread in %r1. `dimensions` are
    special registers such as "ctaid.x", slowest first. The code uses %r2 and %r3."""
    lines = [f"mov.u32 %r1, %{dimensions[0]};"]
    for name in dimensions[1:]:
        lines += [
            f"mov.u32 %r2, %n{name};",
            f"mov.u32 %r3, %{name};",
            "mad.lo.u32 %r1, %r1, %r2, %r3;",
        ]
    return "\n".join(lines)


def random_bytes(seed, size):
    return random.Random(seed).randbytes(size)


def random_words(seed, size, count):
    return unpack(size, random_bytes(seed, size * count))


def all_codes(bits):
    return pack(bits // 8, range(1 << bits))


def npy(data):
    """Returns the contents of a .npy file with the bytes `data`."""
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % len(data)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def npy_data(file):
    """Returns the bytes of the array in a .npy file of version 1."""
    return file[10 + struct.unpack_from("<H", file, 8)[0] :]


def write_module(group, directory):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "kernels.ptx"), "w") as f:
        f.write(group.ptx())


def write_launch_file(name, cases, directory):
    """Writes cases of one group as launches of the launch file NAME.json next to their
    module, and returns the path of the file. Buffers and maps are called CASE.NAME."""
    buffers, maps, launches, outputs = {}, {}, [], {}
    for case in cases:
        launch = rename(case.launch, case.name + ".")
        for key, buffer in launch.pop("buffers").items():
            key = f"{case.name}.{key}"
            if "data" in buffer:
                file = key + ".npy"
                with open(os.path.join(directory, file), "wb") as f:
                    f.write(npy(buffer.pop("data")))
                buffer["file"] = file
            buffers[key] = buffer
        for key, described in launch.pop("tensor_maps", {}).items():
            maps[f"{case.name}.{key}"] = described
        launches.append(launch)
        outputs.update({f"{case.name}.{o}": output_file(case, o) for o in buffers_out(case)})
    path = os.path.join(directory, name + ".json")
    with open(path, "w") as f:
        json.dump(
            {
                "modules": ["kernels.ptx"],
                "buffers": buffers,
                "tensor_maps": maps,
                "launches": launches,
                "outputs": outputs,
            },
            f,
        )
    return path


def rename(value, prefix):
    """Copies a part of a launch file and prepends `prefix` to names of buffers and maps."""
    if isinstance(value, list):
        return [rename(v, prefix) for v in value]
    if isinstance(value, dict):
        return {
            k: prefix + v if k in ("buffer", "tensor_map") else rename(v, prefix)
            for k, v in value.items()
        }
    return value


def buffers_out(case):
    return [o for o in case.outputs if o in case.launch["buffers"]]


def output_file(case, output):
    return f"{case.name}.{output}.out.npy"
