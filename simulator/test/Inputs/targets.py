"""Compares the assembler and the simulator: for every target from sm_90 on, both must
accept or reject the same instructions of instruction_set.py.

targets.py MX_SIM FOLDER

The assembler reports the rejected instructions in one or more passes. The script removes
rejected instructions until the assembler accepts the rest.
"""

import pathlib
import re
import subprocess
import sys

import instruction_set

TARGETS = ["sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103",
           "sm_103a", "sm_103f", "sm_120", "sm_120a", "sm_120f", "sm_121",
           "sm_121a", "sm_121f"]


def module(texts, target):
    """Returns the text, and the line of the first instruction."""
    head = [".version 9.0", f".target {target}", ".address_size 64",
            ".global .align 16 .b8 gl[64];", ".shared .align 16 .b8 sm[64];",
            ".visible .entry k() .maxnreg 128"]
    head += instruction_set.PROLOGUE.rstrip().splitlines()
    return "\n".join(head + texts + ["  ret;", "}"]) + "\n", len(head) + 1


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def refused_by_assembler(texts, target, folder):
    left, refused = list(range(len(texts))), {}
    while True:
        text, first = module([texts[k] for k in left], target)
        (folder / "a.ptx").write_text(text)
        status, out = run(["ptxas", f"-arch={target}", "-O0",
                           str(folder / "a.ptx"), "-o", str(folder / "a.cubin")])
        found = {left[int(line) - first]: why for line, why in
                 re.findall(r"line (\d+); error\s*: (.*)", out)}
        if not found:
            assert status == 0, out
            return refused
        refused.update(found)
        left = [k for k in left if k not in found]


def refused_by_simulator(texts, target, folder, simulator):
    text, first = module(texts, target)
    (folder / "s.ptx").write_text(text)
    out = run([simulator, "--list", str(folder / "s.ptx")])[1]
    assert "kernel k" in out, out
    return {int(line) - first: why for line, why in
            re.findall(r"line (\d+): unsupported instruction (.*)", out)}


def main():
    simulator, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(sum(instruction_set.SETS.values(), []))
    texts = [text for name in names if name != "LEFT_OUT"
             for text in instruction_set.instructions(name)]
    differences = 0
    for target in TARGETS:
        assembler = refused_by_assembler(texts, target, folder)
        ours = refused_by_simulator(texts, target, folder, simulator)
        for k in sorted(assembler.keys() ^ ours.keys()):
            differences += 1
            who = "assembler" if k in assembler else "simulator"
            print(f"{target}: only the {who} refuses {texts[k]}",
                  assembler.get(k) or ours[k], sep="\n    ")
        for k, why in ours.items():
            if f"{target} has no " not in why or ": expected sm_" not in why:
                differences += 1
                print(f"{target}: {texts[k]} is refused without the targets "
                      f"that have it: {why}")
        print(f"{target}: {len(texts)} instructions, {len(ours)} refused")
    print(f"{differences} differences")
    return differences != 0


if __name__ == "__main__":
    sys.exit(main())
