//===- NominalSteps.h - Nominal durations of operations ---------*- C++ -*-===//
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions take a step. Asynchronous operations take steps in proportion
// to bytes or MMAs, so that the picture has a realistic shape. The steps are
// not a model of a chip; use --time for performance.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_NOMINALSTEPS_H
#define MXSIM_LIB_REPORT_NOMINALSTEPS_H

#include <algorithm>
#include <cstdint>

namespace mx::sim::steps {

/// Shared memory has 32 banks of 4 bytes.
constexpr uint64_t kBytesPerStep = 128;
/// Steps from the last byte of an issued copy to its arrival; the order of
/// magnitude of a memory latency.
constexpr uint64_t kCopyLatency = 512;
/// Latency of st.async and of copies between shared memory in a cluster.
constexpr uint64_t kClusterLatency = 128;
/// Latency of clusterlaunchcontrol.try_cancel.
constexpr uint64_t kControlLatency = 512;
/// Steps from the end of an MMA in the pipe until its mbarrier completes: 264
/// clocks were published for an MMA of 128x256 that occupies the pipe for 128.
constexpr uint64_t kTensorLatency = 136;
/// Duration of tcgen05.shift.
constexpr uint64_t kShift = 8;

constexpr uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Steps that a copy occupies its engine.
constexpr uint64_t copyBusy(uint64_t bytes) {
  return std::max<uint64_t>(1, ceilDiv(bytes, kBytesPerStep));
}

/// Steps that tcgen05.mma occupies the pipe for 32 bytes of K: the longer of
/// the MMAs (8192 of bf16 per clock) and the reads of A and B from the shared
/// memory of each CTA.
constexpr uint64_t mma(unsigned m, unsigned n, unsigned ctaGroup,
                       bool aInTensorMemory) {
  uint64_t products = ctaGroup == 2 && m <= 128 ? ceilDiv(n, 4) : ceilDiv(n, 2);
  uint64_t rows = (aInTensorMemory ? 0 : m) + n;
  uint64_t reads = ceilDiv(rows / ctaGroup * 32, kBytesPerStep);
  return std::max<uint64_t>({1, products, reads});
}

/// wgmma of 64 rows takes as many steps for N columns as tcgen05 for 128 rows:
/// half the rate.
constexpr uint64_t wgmma(unsigned n) { return std::max(1u, n / 2); }

} // namespace mx::sim::steps

#endif // MXSIM_LIB_REPORT_NOMINALSTEPS_H
