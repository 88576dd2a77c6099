"""Counts executions of machine instructions in a kernel.

The simulator counts executions of PTX lines, and ptxas maps machine instructions to PTX
lines. Because ptxas moves instructions, the count of a basic block of machine code is the
median count of its lines. Slow paths for rare operands, such as subnormal divisors, count as
not executed. Counts would be too high for loops unrolled by ptxas, but quantizers contain none."""

import glob
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
from collections import Counter

# Class of an opcode; the first matching prefix applies. Instructions of the uniform datapath
# are in the same classes as other instructions, because each occupies an issue slot.
CLASSES = {
    "global": r"LDG|STG|LD$|ST$|RED$|ATOMG?$|CCTL|LDC|ULDC",
    "shared": r"LDS|STS|ATOMS|UTMA|UBLK",
    "local": r"LDL|STL",
    "convert": r"F2|I2F|FRND|U?F2F|U?I2F|U?F2I",
    "maximum": r"U?[FI]MNMX|V?HMNMX|U?VIMNMX",
    "float": r"F|H[AMFS]|MUFU|D[AMFS]|U[FH]",
    "warp": r"SHFL|VOTE|C?REDUX|UREDUX|MATCH|ELECT|WARPSYNC",
    "control": r"BR|BS|BAR|B2R|R2B|CALL|RET|EXIT|JMP|NANOSLEEP|YIELD|SYNCS|MEMBAR"
    r"|FENCE|DEPBAR|LDGDEPBAR|ERRBAR|ACQ|PREEXIT|USETMAXREG|UCGABAR",
    "integer": r".",
}


def find_nvdisasm(source_root):
    """Returns the nvdisasm named by MX_NVDISASM or found on PATH, in the toolkit or in packages
    of .venv, or None."""
    if "MX_NVDISASM" in os.environ:
        candidates = [os.environ["MX_NVDISASM"]]
    else:
        packages = os.path.join(source_root, ".venv/lib/python3*/site-packages")
        candidates = [shutil.which("nvdisasm"), "/usr/local/cuda/bin/nvdisasm"]
        candidates += sorted(glob.glob(os.path.join(packages, "nvidia/*/bin/nvdisasm")))
    return next((c for c in candidates if c and os.access(c, os.X_OK)), None)


def disassemble(ptx, chip, ptxas, nvdisasm):
    """Returns a listing of the machine code of all kernels, with encodings and PTX lines."""
    with tempfile.TemporaryDirectory() as directory:
        source, cubin = (os.path.join(directory, name) for name in ("k.ptx", "k.cubin"))
        with open(source, "w", encoding="utf-8") as file:
            # Lines of other sources are not PTX lines.
            file.write(re.sub(r"(?m)^[ \t]*\.loc[ \t].*", "", ptx))
        command = [ptxas, f"-arch={chip}", "-lineinfo", source, "-o", cubin]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        command = [nvdisasm, "-hex", "-gp", "-c", cubin]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def instructions(listing, kernel):
    """Returns [(opcode, text, PTX line, begins a block)] of a kernel."""
    start = listing.find(f"\n.text.{kernel}:\n")
    if start < 0:
        raise ValueError(f"no machine code of {kernel}")
    found, line, leader = [], None, True
    for text in listing[start + 1 :].splitlines()[1:]:
        if re.match(r"\s+\.section|//-{10}|\s+\.type|\$_", text):
            break  # the next kernel, or subroutines of ptxas
        if match := re.search(r'File "\.nv_debug_ptx_txt[^"]*", line (\d+)', text):
            line = int(match[1])
        elif text.startswith(".L_"):
            leader = True
        elif match := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?(([A-Z0-9]+)[^;]*)", text):
            found.append((match[2], match[1].rstrip(), line, leader))
            leader = match[2] in ("BRA", "BRX", "EXIT", "RET", "CALL", "BREAK")
    return found


def lines_of(ptx):
    """Returns the numbers of the PTX lines with an instruction."""
    pattern = re.compile(r"\s*\{?\s*(@!?%\w+\s+)?[a-z][\w.:]*\s*[^:]*;")
    return {n for n, text in enumerate(ptx.splitlines(), 1) if pattern.match(text)}


def executions(code, by_line):
    """Returns the executions of each instruction of `code`, from the executions
    `by_line` of each PTX line."""
    blocks = []
    for entry in code:
        if entry[3] or not blocks:
            blocks.append([])
        blocks[-1].append(entry)
    found, before = [], 0
    for block in blocks:
        known = [by_line[line] for _, _, line, _ in block if line in by_line]
        if "slowpath" in block[-1][1]:
            known = [0]
        before = statistics.median_low(known) if known else before
        found += [before] * len(block)
    return found


def classify(opcode):
    return next(name for name, pattern in CLASSES.items() if re.match(pattern, opcode))


def count(code, by_line):
    """Returns executions by class and by opcode, without padding."""
    classes, opcodes = Counter(), Counter()
    for (opcode, *_), n in zip(code, executions(code, by_line)):
        if opcode != "NOP":
            classes[classify(opcode)] += n
            opcodes[opcode] += n
    return classes, opcodes


# Machine code of sm_70 and later: 16 bytes per instruction, with the opcode in the low
# 12 bits. ptxas pads kernels with NOPs.
INSTRUCTION_BYTES, NOP = 16, 0x918


def count_instructions(cubin):
    """Returns {kernel: machine instructions without padding} of a cubin, an ELF file
    with a section .text.KERNEL per kernel."""
    headers, = struct.unpack_from("<Q", cubin, 0x28)
    size, number, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, headers + i * size) for i in range(number)]
    found = {}
    for name, _, _, _, offset, length in sections:
        start = sections[names][4] + name
        label = cubin[start : cubin.index(b"\0", start)].decode()
        if label.startswith(".text."):
            opcodes = (int.from_bytes(cubin[place : place + 2], "little") & 0xFFF
                       for place in range(offset, offset + length, INSTRUCTION_BYTES))
            found[label[len(".text."):]] = sum(opcode != NOP for opcode in opcodes)
    return found
