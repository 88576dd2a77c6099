//===- Multiprocessor.h - schedulers, pipes and engines of an SM *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MULTIPROCESSOR_H
#define MXSIM_LIB_TIME_MULTIPROCESSOR_H

#include "Caches.h"
#include "Prices.h"
#include "Queue.h"

#include <deque>

namespace mx::sim::time {

/// What works in order: one after the other.
class Engine {
public:
  /// Works for `cycles` from `cycle` on at the earliest; when it is done.
  uint64_t work(uint64_t cycle, uint64_t cycles, const Path &asker) {
    if (cycle >= free)
      path = asker;
    begin = std::max(cycle, free);
    total += cycles;
    return free = begin + cycles;
  }
  uint64_t begin = 0; ///< of the last
  uint64_t total = 0; ///< so far
  /// When it can begin with more.
  uint64_t next() const { return free; }
  /// To the begin of the last; who asked for it takes it on to its end.
  Path path;

private:
  uint64_t free = 0;
};

/// A quarter of an SM. Who takes slots gets the last of them.
class Quarter {
public:
  /// An SM has no more, and the first warps of CTAs may all be in one quarter.
  static constexpr unsigned kMostWarps = 64;
  Quarter() { goOn.fill(~0ull); }
  uint64_t schedule(uint64_t cycle, uint64_t count = 1) {
    return board.take(0, 1, cycle, count);
  }
  uint64_t pipe(unsigned pipe, uint64_t cycle, uint64_t count = 1) {
    return board.take(pipe, kIntervals[pipe], cycle, count);
  }
  /// Of mma.sync.
  uint64_t tensor(uint64_t cycle, uint64_t count = 1) {
    return board.take(kPipes, 1, cycle, count);
  }
  Slots tensorMemory;
  /// The place for the cycle at which a warp that lives in it goes on.
  uint64_t *enter() {
    unsigned k = unsigned(__builtin_ctzll(~living));
    living |= 1ull << k;
    return &goOn[k];
  }
  void leave(uint64_t *place) {
    *place = ~0ull;
    living &= ~(1ull << (place - goOn.data()));
  }
  /// Whether any of them goes on before.
  bool hasBefore(uint64_t cycle) const {
    for (unsigned k = 0; living >> k; ++k)
      if (goOn[k] < cycle)
        return true;
    return false;
  }
  /// A running wgmma takes `slots` of 8 of the scheduler, and every second one
  /// of the pipes of arithmetic: its accumulators are in registers.
  void giveToMmas(unsigned slots, uint64_t begin, uint64_t end, uint64_t now) {
    constexpr unsigned kOrder[] = {7, 5, 3, 1, 6, 2, 4, 0};
    uint64_t taken = 0;
    for (unsigned k = 0; k < std::min(slots, 8u); ++k)
      taken |= 0x0101010101010101ull << kOrder[k];
    board.block(0, taken, begin, end, now);
    board.block(unsigned(Pipe::Fma), 0xaaaaaaaaaaaaaaaaull, begin, end, now);
    for (Pipe pipe : {Pipe::Alu, Pipe::Multiply})
      board.block(unsigned(pipe), 0xccccccccccccccccull, begin, end, now);
  }

  /// Slots from `cycle` on will be taken soon.
  void prefetch(uint64_t cycle) const { board.prefetch(cycle); }

private:
  // No pipe takes the scheduler's column.
  static_assert(unsigned(Pipe::None) == 0 && kPipes < Board::kColumns);
  Board board;
  uint64_t living = 0; ///< by place
  std::array<uint64_t, kMostWarps> goOn;
};
constexpr unsigned kQuarters = 4;

/// Of tcgen05: mma, cp and shift.
struct TensorPipe {
  Engine engine;
  std::deque<uint64_t> begins; ///< of the last ones, as many as it can hold
};

struct Multiprocessor {
  Multiprocessor(uint64_t l1Bytes, uint32_t lastConstants)
      : l1(l1Bytes), constants(lastConstants + 1, ~0ull) {
    constants[0] = 0;
  }
  std::array<Quarter, kQuarters> quarters;
  Slots shared; ///< accesses to shared memory and L1, one line each
  Busy sharedBusy;
  Engine wgmma;
  TensorPipe pipe;
  Queue copies{1};      ///< cycles of the copy engine
  Queue rows{1};        ///< of its rows that come in, where they are apart
  double copyIssue = 0; ///< of them, those that boxes take
  Tags l1;
  std::vector<uint64_t> constants; ///< when each line is there; ~0: not asked
  /// Whether tensor maps may have changed, and those that it has fetched since.
  bool hasChangedMaps = false;
  std::vector<uint64_t> maps;
  uint64_t issued = 0, sharedLines = 0;
  uint64_t warpMmas = 0; ///< cycles of mma.sync in its quarters
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MULTIPROCESSOR_H
