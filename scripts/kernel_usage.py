#!/usr/bin/env python3
"""Prints the resource usage of each kernel: registers and spills as reported by ptxas,
shared memory as requested by launches, and tensor memory as allocated in the PTX."""

import argparse
import re


def dynamic_shared_memory(ir):
    """Returns the dynamic shared memory of each kernel in bytes, from gpu.launch_func
    operations with constant sizes in printed IR."""
    found = {}
    for launch in re.finditer(r"gpu\.launch_func\s[^\n]*", ir):
        kernel = re.search(r"@[\w$.]+::@([\w$.]+)", launch[0])[1]
        size = re.search(r"dynamic_shared_memory_size (%[\w#]+)", launch[0])
        if not size:
            found[kernel] = "0"
            continue
        # Value names repeat across functions: the nearest definition above applies.
        defined = re.findall(
            rf"{re.escape(size[1])} = (?:arith|llvm\.mlir)\.constant\s*\(?(\d+)",
            ir[: launch.start()],
        )
        found[kernel] = defined[-1] if defined else "?"
    return found


def kernel_bodies(ptx):
    """Returns (name, text) of each kernel."""
    parts = re.split(r"^\s*(?:\.visible\s+)?\.entry\s+([\w$.]+)", ptx, flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2])


def tensor_memory_columns(body):
    """Returns the tensor memory columns that a kernel allocates; the operand is a number, or a
    register set to a number."""
    total = 0
    for operand in re.findall(r"tcgen05\.alloc\.[^;]*,\s*([%\w]+)\s*;", body):
        if operand.startswith("%"):
            moved = re.search(rf"mov\.[bu]32\s+{re.escape(operand)},\s*(\d+);", body)
            operand = moved[1] if moved else "0"
        total += int(operand)
    return total


def ptxas_report(log):
    """Returns registers, spill bytes, stack bytes and static shared memory by kernel."""
    found = {}
    for part in re.split(r"Compiling entry function '", log)[1:]:
        name = part.split("'", 1)[0]
        number = lambda pattern: int(m[1]) if (m := re.search(pattern, part)) else 0
        found[name] = {
            "registers": number(r"Used (\d+) registers"),
            "spills": number(r"(\d+) bytes spill stores")
            + number(r"(\d+) bytes spill loads"),
            "stack": number(r"(\d+) bytes stack frame"),
            "static": number(r"(\d+) bytes smem"),
        }
    return found


def main(ir_path, ptx_path, log_path=None):
    with open(ir_path) as f:
        dynamic = dynamic_shared_memory(f.read())
    with open(ptx_path) as f:
        ptx = f.read()
    assembled = {}
    if log_path:
        with open(log_path) as f:
            assembled = ptxas_report(f.read())
    for name, body in kernel_bodies(ptx):
        words = []
        if name in assembled:
            use = assembled[name]
            words.append(f"{use['registers']} registers")
            words.append(f"{use['spills']} bytes of spills")
            words.append(f"{use['stack']} bytes of stack")
            words.append(
                f"{use['static']} + {dynamic.get(name, '?')} bytes of shared memory"
            )
        else:
            words.append(f"{dynamic.get(name, '?')} bytes of dynamic shared memory")
        words.append(f"{tensor_memory_columns(body)} columns of tensor memory")
        print(f"kernel {name}: " + ", ".join(words))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir")
    parser.add_argument("ptx")
    parser.add_argument("log", nargs="?")
    options = parser.parse_args()
    main(options.ir, options.ptx, options.log)
