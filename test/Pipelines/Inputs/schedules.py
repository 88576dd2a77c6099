"""Compiles and runs a matmul with many explicit schedules.

usage: schedules.py EXAMPLE MX_OPT MX_TRANSLATE MX_RUN PTXAS-or-"" DIRECTORY

Each schedule replaces the schedule in the text of the example.

If a schedule fits into the memories of sm_100a, the results on the simulator must be
correct. The device has fewer multiprocessors than tiles, so each CTA wraps around its
rings. All other schedules must be rejected with a table of memory use.
"""

import os
import re
import subprocess
import sys

import numpy as np

example, mx_opt, mx_translate, mx_run, ptxas, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
check_ptx = os.path.join(os.path.dirname(__file__), "check_ptx.py")

with open(example) as file:
    PROGRAM, found = re.subn(r"#mxgpu\.schedule<(?:[^<>]|<[^<>]*>)*>", "#mxgpu.schedule<SCHEDULE>", file.read())
if found != 1:
    sys.exit(f"{example}: expected 1 schedule, found {found}")


def run(command, text=None, **extra):
    env = dict(os.environ, **extra)
    return subprocess.run(command, input=text, capture_output=True, text=True, env=env)


def fail(what, done):
    sys.exit(f"{what}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


# 2 multiprocessors compute 6 or 4 tiles in 9 steps, and the last step is a quarter full. Every ring
# wraps around within a tile and across tiles.
rng = np.random.default_rng(3)
for name, rows in (("x", 300), ("w", 260)):
    values = rng.standard_normal((rows, 1056)).astype(np.float32)
    np.save(f"{directory}/{name}.npy", (values.view(np.uint32) >> 16).astype(np.uint16))

fitting = 0
for columns in (128, 256):
    for accumulators in (1, 2, 4):
        for stages in range(1, 8):
            schedule = (
                f"tile = [128, {columns}, 128], stages = {stages}, "
                f"strategy = #mxgpu.tcgen05_block_scaled<accumulators = {accumulators}>"
            )
            path = f"{directory}/schedule.mlir"
            with open(path, "w") as file:
                file.write(PROGRAM.replace("SCHEDULE", schedule))
            # A stage holds operands, scales and two barriers. Multiple stages are aligned to 1024
            # bytes, the period of the swizzle. The accumulator barriers and the tensor memory
            # address follow. Columns hold the accumulators, and 4 columns of scales per 128 rows.
            scales = 1 + columns // 128
            slot = 128 * (128 + columns) + 512 * scales + 16
            stride = -(-slot // 1024) * 1024
            smem = (stages * stride if stages > 1 else slot) + 16 * accumulators + 4
            tmem = accumulators * columns + 4 * scales
            done = run([mx_opt, path, "--mx-to-nvvm"])
            if smem > 232448 or tmem > 512:
                if tmem > 512:
                    limit, found, what = 512, tmem, "columns of tensor memory"
                    row = f"{accumulators} stages of acc.d: {accumulators * columns}"
                else:
                    limit, found, what = 232448, smem, "bytes of shared memory"
                    row = f"{stages - 1} more stages of in: {(stages - 1) * stride}"
                table = f"expected at most {limit} {what} on sm_100a, found {found}\n"
                if done.returncode != 1 or table not in done.stderr:
                    fail(schedule, done)
                if f"note: {row}\n" not in done.stderr or done.stderr.count("error:") != 1:
                    fail(schedule, done)
                continue
            if done.returncode:
                fail(schedule, done)
            fitting += 1
            ptx = run([mx_translate, "--mx-to-ptx"], done.stdout)
            if ptx.returncode:
                fail(schedule, ptx)
            with open(f"{directory}/schedule.ptx", "w") as file:
                file.write(ptx.stdout)
            check = [sys.executable, check_ptx, f"{directory}/schedule.ptx"]
            if ptxas:
                log = run([ptxas, "-arch=sm_100a", "-v", f"{directory}/schedule.ptx", "-o", os.devnull])
                if log.returncode:
                    fail(schedule, log)
                with open(f"{directory}/ptxas.log", "w") as file:
                    file.write(log.stdout + log.stderr)
                check += ["--ptxas", f"{directory}/ptxas.log"]
            checked = run(check)
            if checked.returncode:
                fail(schedule, checked)
            done = run(
                [mx_run, path, "--device=sim", "--check=cpu"]
                + ["--arg", f"{directory}/x.npy", "--arg", f"{directory}/w.npy"],
                MX_SIM_SM_COUNT="2",
                MX_SIM_SEED=str(stages),
            )
            if done.returncode or "check: passed" not in done.stdout + done.stderr:
                fail(schedule, done)
            print(f"{schedule}: right")
print(f"{fitting} schedules ran")
