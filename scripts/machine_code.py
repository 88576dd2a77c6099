"""How often the instructions of a kernel's machine code are executed.

The simulator counts lines of the PTX. ptxas says which line each machine
instruction comes from, so that a basic block of machine code is executed as
often as the lines that it is made of (their median, as ptxas moves some). What
ptxas puts behind a rare case of one instruction (divisions of subnormals) counts as
not executed; loops that it unrolls would count more often than they are."""

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter

# Class of an opcode: the first that matches. Instructions of the uniform datapath
# are counted with the others, as they take an issue slot as well.
CLASSES = [
    ("global", r"LDG|STG|LD$|ST$|RED|ATOM|CCTL|LDC$|LDCU|ULDC"),
    ("shared", r"LDS|STS|LDSM|STSM|ATOMS"),
    ("copy", r"UTMA|UBLK|UTMACMDFLUSH|CREDUX"),
    ("local", r"LDL|STL"),
    ("convert", r"F2F|F2FP|F2I|I2F|I2FP|FRND|F2IP|I2IP|UF2F|UI2F|UF2I"),
    ("maximum", r"FMNMX|HMNMX2|VHMNMX|VIMNMX|IMNMX|UIMNMX|UVIMNMX"),
    ("float", r"FADD|FMUL|FFMA|FSEL|FSET|FCHK|HADD|HMUL|HFMA|HSET|MUFU|DADD|DMUL|DFMA|DSET|FSWZ|UF|UH"),
    ("warp", r"SHFL|VOTE|REDUX|UREDUX|MATCH|ELECT|WARPSYNC"),
    ("control", r"BRA|BRX|BSSY|BSYNC|BREAK|CALL|RET|EXIT|JMP|NANOSLEEP|YIELD|BAR|UCGABAR|SYNCS|MEMBAR|FENCE|DEPBAR|ERRBAR|ACQBULK|ACQSHMINIT|BPT|B2R|R2B|PREEXIT|USETMAXREG"),
    ("integer", r"."),
]
CLASS_NAMES = [name for name, _ in CLASSES]
# These have no work to do: padding, and moves that a different allocation saves.
SKIPPED = {"NOP"}


def find_nvdisasm(source_root):
    """Of MX_NVDISASM, PATH, the toolkit or the packages of .venv the first; or None."""
    if "MX_NVDISASM" in os.environ:
        candidates = [os.environ["MX_NVDISASM"]]
    else:
        import glob

        packages = os.path.join(source_root, ".venv/lib/python3*/site-packages/nvidia")
        candidates = [shutil.which("nvdisasm"), "/usr/local/cuda/bin/nvdisasm"]
        candidates += sorted(glob.glob(os.path.join(packages, "*/bin/nvdisasm")))
    return next((c for c in candidates if c and os.access(c, os.X_OK)), None)


def disassemble(ptx, kernel, chip, ptxas, nvdisasm):
    """[(opcode, text, line of the PTX, begins a block)] of one kernel."""
    with tempfile.TemporaryDirectory() as directory:
        source, cubin = (os.path.join(directory, n) for n in ("k.ptx", "k.cubin"))
        with open(ptx, encoding="utf-8") as file:
            # Lines of another source would take the place of those of the PTX.
            text = re.sub(r"^\s*\.loc\s[^\n]*", "", file.read(), flags=re.MULTILINE)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = [ptxas, f"-arch={chip}", "-lineinfo", source, "-o", cubin]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        listing = subprocess.run(
            [nvdisasm, "-gp", "-c", cubin], check=True, capture_output=True, text=True
        ).stdout
    return parse(listing, kernel)


def parse(listing, kernel):
    body = re.search(
        rf"^\.text\.{re.escape(kernel)}:\n(.*?)(?=^//-{{10}}|^\t\.section|\Z)",
        listing,
        flags=re.MULTILINE | re.DOTALL,
    )
    if not body:
        raise ValueError(f"no machine code of {kernel}")
    code, line, leader = [], None, True
    for text in body[1].splitlines():
        if re.match(r"\s*\.type\s|^\$_+\w+\$__cuda|^\s*\$.*slowpath:", text):
            break  # subroutines of ptxas
        if match := re.search(r'File "\.nv_debug_ptx_txt[^"]*", line (\d+)', text):
            line = int(match[1])
        elif re.match(r"\s*\.?L_x?_?\w*:|^\.L", text):
            leader = True
        elif match := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)([^;]*);", text):
            code.append((match[1], match[1] + match[2].rstrip(), line, leader))
            leader = match[1] in ("BRA", "BRX", "EXIT", "RET", "CALL", "BREAK")
    return code


def instruction_lines(ptx):
    """Lines of the PTX that hold an instruction."""
    with open(ptx, encoding="utf-8") as file:
        return {
            number
            for number, text in enumerate(file, 1)
            if re.match(r"\s*\{?\s*(@!?%\w+\s+)?[a-z][\w.:]*\s*[^:]*;", text)
        }


def executions(code, by_line):
    """How often each instruction of `code` is executed: that of its block."""
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


def count(code, by_line):
    """Warp instructions by class, and by opcode."""
    classes, opcodes = Counter(), Counter()
    for (opcode, _, _, _), n in zip(code, executions(code, by_line)):
        if opcode in SKIPPED:
            continue
        name = next(name for name, pattern in CLASSES if re.match(pattern, opcode))
        classes[name] += n
        opcodes[opcode] += n
    return classes, opcodes
