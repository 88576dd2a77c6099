//===- NominalSteps.h - how long operations take, nominally -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that says how many steps of a timeline an operation takes. An
// instruction takes one step. Asynchronous operations take a number that grows
// with the bytes or the products, so that the picture has the right shape; it
// is not a model of a chip, and no speed may be read from it.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_NOMINALSTEPS_H
#define MXSIM_LIB_REPORT_NOMINALSTEPS_H

#include <algorithm>
#include <cstdint>

namespace mx::sim::steps {

/// Shared memory passes 128 bytes a clock: 32 banks of 4 bytes.
constexpr uint64_t kBytesPerStep = 128;
/// From the last byte of a copy that an engine has taken on until it has
/// arrived; the order of magnitude of a latency to memory.
constexpr uint64_t kCopyLatency = 512;
/// The same inside a cluster: st.async, copies from shared to shared memory.
constexpr uint64_t kClusterLatency = 128;
/// clusterlaunchcontrol.try_cancel.
constexpr uint64_t kControlLatency = 512;
/// From the end of an MMA in the pipe until its mbarrier can know: 264 clocks
/// were published for an MMA of 128x256 that takes the pipe for 128.
constexpr uint64_t kTensorLatency = 136;
/// tcgen05.shift.
constexpr uint64_t kShift = 8;

constexpr uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// How long a copy of so many bytes keeps its engine busy.
constexpr uint64_t copyBusy(uint64_t bytes) {
  return std::max<uint64_t>(1, ceilDiv(bytes, kBytesPerStep));
}

/// How long a tcgen05.mma keeps the pipe busy, for 32 bytes of K: the products
/// (8192 of bf16 a clock), or the rows of A and B that each CTA reads from its
/// shared memory, whichever takes longer.
constexpr uint64_t mma(unsigned m, unsigned n, unsigned ctaGroup,
                       bool aInTensorMemory) {
  uint64_t products = ctaGroup == 2 && m <= 128 ? ceilDiv(n, 4) : ceilDiv(n, 2);
  uint64_t rows = (aInTensorMemory ? 0 : m) + n;
  uint64_t reads = ceilDiv(rows / ctaGroup * 32, kBytesPerStep);
  return std::max<uint64_t>({1, products, reads});
}

/// wgmma of 64 rows: the same products a clock for n columns as tcgen05 has for
/// 128 rows, at half the rate.
constexpr uint64_t wgmma(unsigned n) { return std::max(1u, n / 2); }

} // namespace mx::sim::steps

#endif // MXSIM_LIB_REPORT_NOMINALSTEPS_H
