//===- Mbarrier.h - the mbarrier object -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, section "mbarrier". The whole state is one word. It is kept beside
// shared memory, not in it: on an H200 the 8 bytes that the program reserves
// keep what was there, and data written over them does no harm.
//
// Word: bits 0-19 pending, 20-39 expected, 40-60 tx count (two's complement),
// 61 phase parity, 62-63 tag (2 live, 1 invalidated, else not a barrier).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_MBARRIER_H
#define MXSIM_TENSOR_MBARRIER_H

#include "mxsim/tensor/Fault.h"

#include <cstdint>

namespace mx::sim {

constexpr uint32_t mbarrierMaxCount = (1u << 20) - 1;

/// The decoded word, also for reports ("pending 1 of 2, tx 512").
struct MbarrierState {
  bool live = false;
  bool invalidated = false;
  unsigned parity = 0;
  uint32_t pending = 0;
  uint32_t expected = 0;
  int32_t tx = 0;
};
MbarrierState mbarrierState(uint64_t word);
/// "phase parity 0, 1 of 2 arrivals pending, tx-count 512 bytes".
std::string describeMbarrier(uint64_t word);

/// All operations leave the word unchanged when they return a fault. Each may
/// complete the phase; compare the parity before and after to learn of it.
Fault mbarrierInit(uint64_t &word, uint32_t count);
Fault mbarrierInval(uint64_t &word);
/// One more arrival in this phase (cp.async.mbarrier.arrive without .noinc).
Fault mbarrierExpectArrival(uint64_t &word);
/// The state token of mbarrier.arrive is the word before the operation.
Fault mbarrierArrive(uint64_t &word, uint32_t count, bool noComplete = false);
Fault mbarrierArriveDrop(uint64_t &word, uint32_t count,
                         bool noComplete = false);
/// expect_tx then arrive in one step.
Fault mbarrierArriveExpectTx(uint64_t &word, uint32_t bytes,
                             uint32_t count = 1);
/// expect_tx then arrive_drop in one step.
Fault mbarrierArriveDropExpectTx(uint64_t &word, uint32_t bytes,
                                 uint32_t count = 1);
Fault mbarrierExpectTx(uint64_t &word, uint32_t bytes);
Fault mbarrierCompleteTx(uint64_t &word, uint32_t bytes);
/// test_wait / try_wait by state token and by parity.
Fault mbarrierTest(uint64_t word, uint64_t token, bool &done);
Fault mbarrierTestParity(uint64_t word, unsigned parity, bool &done);
/// mbarrier.pending_count of a state token.
uint32_t mbarrierPendingCount(uint64_t token);

} // namespace mx::sim

#endif // MXSIM_TENSOR_MBARRIER_H
