# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m mx_compiler.selftest"""

import argparse
import subprocess
import sys
import time

import mx_compiler as mx

from . import __doc__ as text
from . import program
from .runner import PARTS, has_gpu, run, why_no_device


def main():
    parser = argparse.ArgumentParser(
        prog="python -m mx_compiler.selftest", description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--chip", default="sm_100a", help="of --write")
    parser.add_argument("--write", metavar="DIR")
    parser.add_argument("--program", metavar="DIR")
    parser.add_argument("--report", metavar="FILE")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    args = parser.parse_args()
    if unknown := [part for part in args.parts if part not in PARTS]:
        parser.error(f"expected parts of [{', '.join(PARTS)}], found {unknown[0]}")
    if args.report:
        if args.parts:
            parser.error("--report runs all of its families, expected no PART")
        from .report.collect import write_report
        return write_report(args.report, args.device)
    if args.write:
        mx.compile(program.SOURCE, chip=args.chip).save(args.write)
        return 0
    start = time.perf_counter()
    if why := why_no_device(args.device or "sim"):
        print(f"selftest: error: {why}", file=sys.stderr)
        return 2
    passed = run(args.program, args.parts)
    # In a separate process, because a GPU fault may end it.
    if not args.device and not args.program and has_gpu():
        passed &= subprocess.run([sys.executable, "-m", "mx_compiler.selftest",
                                  "--device=cuda", *args.parts]).returncode == 0
    print(f"selftest: {'passed' if passed else 'FAILED'} ({time.perf_counter() - start:.0f} s)")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
