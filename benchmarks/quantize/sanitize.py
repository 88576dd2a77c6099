#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the small cases under each tool of compute-sanitizer.

usage: sanitize.py BUNDLE [--only=NAME,...] [--tools=memcheck,...]

Each tool must first find the fault in a faulty kernel, because a tool that checks nothing also
reports nothing."""

import argparse
import ctypes
import os
import subprocess
import sys
import time

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 99  # exit status for findings


def run_fault(bundle, tool):
    """Runs the faulty kernel of a tool, in a separate process under the tool."""
    from cuda_driver import Driver, Module
    driver = Driver()
    driver.use_primary_context()
    module = Module(driver, os.path.join(bundle, "faults.cubin"))
    memory, count = ctypes.c_uint64(), 64
    driver.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * count))
    module.launch(tool, 1, 64, [memory, ctypes.c_int(count)])
    status = driver.library.cuCtxSynchronize()
    print(f"fault of {tool}: ended with {status}")


def sanitize(tool, *command):
    # The runtime counts a kernel's parameters by querying until the driver reports an error, so
# this error is not a fault of a kernel.
    return subprocess.run(
        ["compute-sanitizer", f"--tool={tool}", f"--error-exitcode={FOUND}",
         "--report-api-errors=no", "--print-limit=20", sys.executable, *command],
        capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--fault", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fault:
        return run_fault(options.bundle, options.fault)
    failures = 0
    for tool in options.tools.split(","):
        planted = sanitize(tool, __file__, options.bundle, f"--fault={tool}")
        if planted.returncode != FOUND:
            print(f"{tool}: does not find a fault of its kind\n"
                  f"{planted.stdout}{planted.stderr}")
            failures += 1
            continue
        start = time.time()
        check = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "check.py")
        done = sanitize(tool, check, options.bundle, f"--only={options.only}")
        lines = done.stdout.strip().splitlines()
        findings = [l for l in lines if l.startswith("=========")]
        summary = [l for l in lines if " cases, " in l]
        print(f"{tool}: {' '.join(findings[-1:])} {' '.join(summary)}, "
              f"{time.time() - start:.0f} s", flush=True)
        if done.returncode:
            print("\n".join(lines[:60]) + done.stderr[-2000:])
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
