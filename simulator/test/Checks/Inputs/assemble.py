#!/usr/bin/env python3
"""assemble.py PTXAS FILE...: checks that ptxas accepts both variants of every
kernel in the test files (see pair.py) for sm_100a. The listed bad variants contain
a mistake that ptxas itself rejects."""

import pathlib, re, subprocess, sys, tempfile

# Forbidden by the PTX ISA; ptxas reports the error.
REFUSED = {("mixed.ptx", "bad")}

ptxas, failed, count = sys.argv[1], [], 0
with tempfile.TemporaryDirectory() as where:
    for name in sys.argv[2:]:
        parts = re.split(r"^//--- (\S+)\n", pathlib.Path(name).read_text(), flags=re.M)
        for part, text in zip(parts[1::2], parts[2::2]):
            if not part.endswith(".ptx"):
                continue
            for variant in ("good", "bad"):
                path = pathlib.Path(where, part)
                path.write_text(text.replace(f"//{variant.upper()} ", ""))
                command = [ptxas, "-arch=sm_100a", str(path), "-o", "/dev/null"]
                done = subprocess.run(command, capture_output=True, text=True)
                count += 1
                is_refused = done.returncode != 0
                if is_refused != ((part, variant) in REFUSED):
                    failed.append(f"{name}: {part}, {variant}: {done.stderr}")
print(f"{count} programs")
sys.exit("\n".join(failed) or 0)
