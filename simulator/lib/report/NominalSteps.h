//===- NominalSteps.h - Nominal durations of operations ---------*- C++ -*-===//
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instruction takes a step. The number of steps of an asynchronous operation
// is proportional to its bytes or MMAs, so the timeline has a realistic shape.
// The steps do not model a chip; use --time for performance.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_NOMINALSTEPS_H
#define MXSIM_LIB_REPORT_NOMINALSTEPS_H

#include <algorithm>
#include <cstdint>

namespace mx::sim::steps {

/// Bytes that shared memory transfers per step: 32 banks of 4 bytes.
constexpr uint64_t kBytesPerStep = 128;
/// Steps from the issue of a copy's last byte to its arrival, of the order of
/// the memory latency.
constexpr uint64_t kCopyLatency = 512;
/// Latency of st.async and of copies between shared memory in a cluster.
constexpr uint64_t kClusterLatency = 128;
/// Latency of clusterlaunchcontrol.try_cancel.
constexpr uint64_t kControlLatency = 512;
/// Steps from the end of an MMA in the pipe to the completion of its mbarrier.
/// A 128x256 MMA occupies the pipe for 128 clocks, and its published latency is
/// 264 clocks.
constexpr uint64_t kTensorLatency = 136;
/// Duration of tcgen05.shift.
constexpr uint64_t kShift = 8;

constexpr uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Number of steps for which a copy occupies its engine.
constexpr uint64_t copyBusy(uint64_t bytes) {
  return std::max<uint64_t>(1, ceilDiv(bytes, kBytesPerStep));
}

/// Number of steps for which tcgen05.mma occupies the pipe per 32 bytes of K.
/// The slower of two limits applies: the arithmetic (8192 bf16 operations per
/// clock), and the reads of A and B from the shared memory of each CTA.
constexpr uint64_t mma(unsigned m, unsigned n, unsigned ctaGroup,
                       bool aInTensorMemory) {
  uint64_t products = ctaGroup == 2 && m <= 128 ? ceilDiv(n, 4) : ceilDiv(n, 2);
  uint64_t rows = (aInTensorMemory ? 0 : m) + n;
  uint64_t reads = ceilDiv(rows / ctaGroup * 32, kBytesPerStep);
  return std::max<uint64_t>({1, products, reads});
}

/// Number of steps for which wgmma occupies the pipe. wgmma runs at half the
/// rate of tcgen05, so its 64 rows take as long as 128 rows of tcgen05.
constexpr uint64_t wgmma(unsigned n) { return std::max(1u, n / 2); }

} // namespace mx::sim::steps

#endif // MXSIM_LIB_REPORT_NOMINALSTEPS_H
