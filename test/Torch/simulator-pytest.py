"""The fixture mx_sim: tests fail with the findings of their launches, under each seed.

RUN: rm -rf %t && mkdir %t && cp %s %t/test_kernels.py && cp %mx_src/runtime/test/kernels.ptx %t
RUN: not %python_torch -m pytest -p mx_compiler.sim.pytest -p no:cacheprovider --mx-sim-seeds=3 %t | FileCheck %s
RUN: not %python_torch -m pytest -p mx_compiler.sim.pytest --mx-sim-seeds=0 %t 2>&1 | FileCheck %s --check-prefix=ZERO
REQUIRES: torch, pytest
"""

import numpy as np

PTX = __file__.replace("test_kernels.py", "kernels.ptx")
# CHECK-NOT: test_passes
# CHECK: ___ test_fails[seed0] ___
# CHECK-NEXT: kernel 'store_ids', seed 0: failed
# CHECK-NEXT: kernels.ptx:{{[0-9]+}}: out-of-bounds: {{.*}} of buffer 'argument 0' of 128 bytes
# CHECK: kernel 'wait_forever', seed 0: deadlock
# CHECK: ___ test_fails[seed2] ___
# CHECK: ___ test_asserts[seed0] ___
# CHECK: assert 1 == 0
# CHECK: --- Captured mx-sim call ---
# CHECK-NEXT: kernel 'store_ids', seed 0: failed
# CHECK: 6 failed, 3 passed
# ZERO: --mx-sim-seeds: expected at least 1, found 0


def store(mx_sim, threads):
    ids = np.zeros(32, np.uint32)
    report = mx_sim.Module(PTX)["store_ids"][1, threads](ids, threads)
    return ids.tolist() == [*range(32)] and report.is_clean


def test_passes(mx_sim):
    assert store(mx_sim, 32)


def test_fails(mx_sim):
    assert not store(mx_sim, 64)
    mx_sim.Module(PTX)["wait_forever"][1, 32]()


def test_asserts(mx_sim):
    store(mx_sim, 64)
    assert 1 == 0
