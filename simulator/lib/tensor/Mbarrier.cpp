//===- Mbarrier.cpp - The mbarrier object ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the phases of PTX ISA, "Parallel Synchronization: mbarrier". A
// phase completes when no arrivals are pending and the tx-count is zero.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/Mbarrier.h"

using namespace mx::sim;

namespace {

constexpr unsigned expectedShift = 20;
constexpr unsigned txShift = 40;
constexpr unsigned txBits = 21;
constexpr unsigned parityShift = 61;
constexpr unsigned tagShift = 62;
constexpr uint64_t tagInvalidated = 1;
constexpr uint64_t tagLive = 2;
constexpr uint64_t countMask = mbarrierMaxCount;

uint64_t encode(const MbarrierState &state) {
  uint64_t tx = static_cast<uint64_t>(static_cast<int64_t>(state.tx)) &
                ((uint64_t{1} << txBits) - 1);
  return uint64_t{state.pending} | uint64_t{state.expected} << expectedShift |
         tx << txShift | uint64_t{state.parity} << parityShift |
         tagLive << tagShift;
}

Fault misuse(std::string message) {
  return Fault(FaultKind::Barrier, std::move(message));
}

Fault checkLive(const MbarrierState &state, const char *operation) {
  if (state.live)
    return {};
  return misuse(
      std::string(operation) +
      (state.invalidated
           ? " on an mbarrier that was invalidated"
           : " on memory that does not contain an initialized mbarrier"));
}

/// Completes the phase if no arrivals are pending and the tx-count is zero.
void settle(MbarrierState &state) {
  if (state.pending != 0 || state.tx != 0)
    return;
  state.parity ^= 1;
  state.pending = state.expected;
}

Fault addTx(MbarrierState &state, int64_t bytes, const char *operation) {
  int64_t tx = state.tx + bytes;
  int64_t limit = mbarrierMaxCount;
  if (tx > limit || tx < -limit)
    return misuse(std::string(operation) + " of " +
                  std::to_string(bytes < 0 ? -bytes : bytes) +
                  " bytes takes the tx-count from " + std::to_string(state.tx) +
                  " to " + std::to_string(tx) + ", outside +-" +
                  std::to_string(limit));
  state.tx = static_cast<int32_t>(tx);
  return {};
}

Fault takeArrivals(MbarrierState &state, uint32_t count, bool drop,
                   bool noComplete, const char *operation) {
  if (count == 0 || count > mbarrierMaxCount)
    return misuse(std::string(operation) + " count must be 1 to " +
                  std::to_string(mbarrierMaxCount) + ", got " +
                  std::to_string(count));
  if (count > state.pending)
    return misuse(std::string(operation) + " of " + std::to_string(count) +
                  " exceeds the " + std::to_string(state.pending) +
                  " arrivals still pending in this phase");
  state.pending -= count;
  if (drop)
    state.expected -= count;
  if (noComplete && state.pending == 0 && state.tx == 0)
    return misuse(std::string(operation) +
                  ".noComplete would complete the phase");
  return {};
}

/// Implements all variants of arrive. Adds `bytes` to the expected count before
/// the arrival.
Fault arrive(uint64_t &word, uint32_t bytes, uint32_t count, bool drop,
             bool noComplete, const char *operation) {
  MbarrierState state = mbarrierState(word);
  if (Fault fault = checkLive(state, operation))
    return fault;
  if (Fault fault = addTx(state, bytes, "expect_tx"))
    return fault;
  if (Fault fault = takeArrivals(state, count, drop, noComplete, operation))
    return fault;
  settle(state);
  word = encode(state);
  return {};
}

Fault changeTx(uint64_t &word, int64_t bytes, const char *operation) {
  MbarrierState state = mbarrierState(word);
  if (Fault fault = checkLive(state, operation))
    return fault;
  if (Fault fault = addTx(state, bytes, operation))
    return fault;
  settle(state);
  word = encode(state);
  return {};
}

} // namespace

MbarrierState mx::sim::mbarrierState(uint64_t word) {
  MbarrierState state;
  state.live = word >> tagShift == tagLive;
  state.invalidated = word >> tagShift == tagInvalidated;
  state.parity = word >> parityShift & 1;
  state.pending = static_cast<uint32_t>(word & countMask);
  state.expected = static_cast<uint32_t>(word >> expectedShift & countMask);
  // Sign-extend the field.
  state.tx = static_cast<int32_t>(
      static_cast<int64_t>(word << (64 - txShift - txBits)) >> (64 - txBits));
  return state;
}

std::string mx::sim::describeMbarrier(uint64_t word) {
  MbarrierState state = mbarrierState(word);
  if (state.invalidated)
    return "invalidated";
  if (!state.live)
    return "not initialized";
  return "phase parity " + std::to_string(state.parity) + ", " +
         std::to_string(state.pending) + " of " +
         std::to_string(state.expected) + " arrivals pending, tx-count " +
         std::to_string(state.tx) + " bytes";
}

Fault mx::sim::mbarrierExpectArrival(uint64_t &word) {
  MbarrierState state = mbarrierState(word);
  if (Fault fault = checkLive(state, "cp.async.mbarrier.arrive"))
    return fault;
  if (state.pending == mbarrierMaxCount)
    return misuse("cp.async.mbarrier.arrive on an mbarrier with " +
                  std::to_string(state.pending) + " pending arrivals");
  ++state.pending;
  word = encode(state);
  return {};
}

Fault mx::sim::mbarrierInit(uint64_t &word, uint32_t count) {
  if (count == 0 || count > mbarrierMaxCount)
    return misuse("mbarrier.init count must be 1 to " +
                  std::to_string(mbarrierMaxCount) + ", got " +
                  std::to_string(count));
  MbarrierState state;
  state.pending = state.expected = count;
  word = encode(state);
  return {};
}

Fault mx::sim::mbarrierInval(uint64_t &word) {
  if (Fault fault = checkLive(mbarrierState(word), "mbarrier.inval"))
    return fault;
  word = tagInvalidated << tagShift;
  return {};
}

Fault mx::sim::mbarrierArrive(uint64_t &word, uint32_t count, bool noComplete) {
  return arrive(word, 0, count, /*drop=*/false, noComplete, "mbarrier.arrive");
}

Fault mx::sim::mbarrierArriveDrop(uint64_t &word, uint32_t count,
                                  bool noComplete) {
  return arrive(word, 0, count, /*drop=*/true, noComplete,
                "mbarrier.arrive_drop");
}

Fault mx::sim::mbarrierArriveExpectTx(uint64_t &word, uint32_t bytes,
                                      uint32_t count) {
  return arrive(word, bytes, count, /*drop=*/false, /*noComplete=*/false,
                "mbarrier.arrive");
}

Fault mx::sim::mbarrierArriveDropExpectTx(uint64_t &word, uint32_t bytes,
                                          uint32_t count) {
  return arrive(word, bytes, count, /*drop=*/true, /*noComplete=*/false,
                "mbarrier.arrive_drop");
}

Fault mx::sim::mbarrierExpectTx(uint64_t &word, uint32_t bytes) {
  return changeTx(word, bytes, "expect_tx");
}

Fault mx::sim::mbarrierCompleteTx(uint64_t &word, uint32_t bytes) {
  // A copy completes in pieces. The phase ends as soon as its expected bytes
  // arrive, and the rest counts toward the next phase (measured on an H200).
  MbarrierState state = mbarrierState(word);
  if (state.live && !state.pending && state.tx > 0 &&
      static_cast<uint32_t>(state.tx) < bytes) {
    bytes -= static_cast<uint32_t>(state.tx);
    if (Fault fault =
            changeTx(word, -static_cast<int64_t>(state.tx), "complete_tx"))
      return fault;
  }
  return changeTx(word, -static_cast<int64_t>(bytes), "complete_tx");
}

Fault mx::sim::mbarrierTest(uint64_t word, uint64_t token, bool &done) {
  MbarrierState state = mbarrierState(word);
  if (Fault fault = checkLive(state, "wait"))
    return fault;
  MbarrierState then = mbarrierState(token);
  if (!then.live)
    return misuse("wait for a state that no mbarrier.arrive returned");
  done = state.parity != then.parity;
  return {};
}

Fault mx::sim::mbarrierTestParity(uint64_t word, unsigned parity, bool &done) {
  MbarrierState state = mbarrierState(word);
  if (Fault fault = checkLive(state, "wait"))
    return fault;
  if (parity > 1)
    return misuse("wait parity must be 0 or 1, got " + std::to_string(parity));
  done = state.parity != parity;
  return {};
}

uint32_t mx::sim::mbarrierPendingCount(uint64_t token) {
  return mbarrierState(token).pending;
}
