//===- Mbarrier.h - The mbarrier object -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the PTX ISA, section "mbarrier". The state is a word outside
// shared memory, because on an H200 the 8 reserved bytes keep their contents
// and overwriting them is harmless. Bits of the word: 0-19 pending count, 20-39
// expected count, 40-60 tx-count (two's complement), 61 phase parity, 62-63 tag
// (2: live, 1: invalidated, other values: not an mbarrier).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_MBARRIER_H
#define MXSIM_TENSOR_MBARRIER_H

#include "mxsim/tensor/Fault.h"

#include <cstdint>

namespace mx::sim {

constexpr uint32_t mbarrierMaxCount = (1u << 20) - 1;

/// Decoded word.
struct MbarrierState {
  bool live = false;
  bool invalidated = false;
  unsigned parity = 0;
  uint32_t pending = 0;
  uint32_t expected = 0;
  int32_t tx = 0;
};
MbarrierState mbarrierState(uint64_t word);
/// Returns "phase parity 0, 1 of 2 arrivals pending, tx-count 512 bytes".
std::string describeMbarrier(uint64_t word);

/// All operations leave the word unchanged if they return a fault. Any
/// operation may complete the phase, and thereby flip the parity.
Fault mbarrierInit(uint64_t &word, uint32_t count);
Fault mbarrierInval(uint64_t &word);
/// Adds a pending arrival to this phase (cp.async.mbarrier.arrive without
/// .noinc).
Fault mbarrierExpectArrival(uint64_t &word);
/// Arrives. The state token of mbarrier.arrive is the previous word.
Fault mbarrierArrive(uint64_t &word, uint32_t count, bool noComplete = false);
Fault mbarrierArriveDrop(uint64_t &word, uint32_t count,
                         bool noComplete = false);
/// Performs expect_tx and arrive in one step.
Fault mbarrierArriveExpectTx(uint64_t &word, uint32_t bytes,
                             uint32_t count = 1);
/// Performs expect_tx and arrive_drop in one step.
Fault mbarrierArriveDropExpectTx(uint64_t &word, uint32_t bytes,
                                 uint32_t count = 1);
Fault mbarrierExpectTx(uint64_t &word, uint32_t bytes);
Fault mbarrierCompleteTx(uint64_t &word, uint32_t bytes);
/// Perform test_wait or try_wait for a state token or for a parity.
Fault mbarrierTest(uint64_t word, uint64_t token, bool &done);
Fault mbarrierTestParity(uint64_t word, unsigned parity, bool &done);
/// Returns the mbarrier.pending_count of a state token.
uint32_t mbarrierPendingCount(uint64_t token);

} // namespace mx::sim

#endif // MXSIM_TENSOR_MBARRIER_H
