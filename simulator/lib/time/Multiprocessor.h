//===- Multiprocessor.h - Schedulers, pipes and engines of an SM *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MULTIPROCESSOR_H
#define MXSIM_LIB_TIME_MULTIPROCESSOR_H

#include "Caches.h"
#include "Prices.h"
#include "Queue.h"

#include <deque>

namespace mx::sim::time {

/// Resource that serves requests in order.
class Engine {
public:
  /// Reserves `cycles` at or after `cycle`; returns the end.
  uint64_t work(uint64_t cycle, uint64_t cycles, const Path &asker) {
    if (cycle >= free)
      path = asker;
    begin = std::max(cycle, free);
    total += cycles;
    return free = begin + cycles;
  }
  uint64_t begin = 0; ///< start of the last request
  uint64_t total = 0; ///< busy cycles so far
  /// Cycle at which the engine is free.
  uint64_t next() const { return free; }
  /// Path to the start of the last request. The requester extends the path to
  /// the end of the request.
  Path path;

private:
  uint64_t free = 0;
};

/// SM sub-partition. Functions that reserve slots return the last slot.
class Quarter {
public:
  /// Limit on the warps of a sub-partition. It is the limit of an SM, because
  /// the first warps of all CTAs may share a sub-partition.
  static constexpr unsigned kMostWarps = 64;
  Quarter() { goOn.fill(~0ull); }
  uint64_t schedule(uint64_t cycle, uint64_t count = 1) {
    return board.take(0, 1, cycle, count);
  }
  uint64_t pipe(unsigned pipe, uint64_t cycle, uint64_t count = 1) {
    return board.take(pipe, kIntervals[pipe], cycle, count);
  }
  /// Reserves a cycle of the 32-lane pipe for every two instructions with three
  /// registers, because the register file reads two registers per cycle.
  void readThird(uint64_t cycle) {
    isThird = !isThird;
    if (isThird)
      pipe(unsigned(Pipe::Fma), cycle);
  }
  /// Reserves cycles of the tensor core for mma.sync.
  uint64_t tensor(uint64_t cycle, uint64_t count = 1) {
    return board.take(kPipes, 1, cycle, count);
  }
  Slots tensorMemory;
  /// Returns the entry for the wake-up cycle of a new warp.
  uint64_t *enter() {
    unsigned k = unsigned(__builtin_ctzll(~living));
    living |= 1ull << k;
    return &goOn[k];
  }
  void leave(uint64_t *place) {
    *place = ~0ull;
    living &= ~(1ull << (place - goOn.data()));
  }
  /// Returns true if another warp resumes before `cycle`.
  bool hasBefore(uint64_t cycle) const {
    for (unsigned k = 0; living >> k; ++k)
      if (goOn[k] < cycle)
        return true;
    return false;
  }
  /// Returns the number of warps except `self` that resume before `cycle`.
  unsigned countBefore(uint64_t cycle, const uint64_t *self) const {
    unsigned count = 0;
    for (unsigned k = 0; living >> k; ++k)
      count += goOn[k] < cycle && &goOn[k] != self;
    return count;
  }
  /// Reserves `slots` of every 8 issue slots, every second slot of the
  /// arithmetic pipes, and every fourth slot for functions, for a running
  /// wgmma.
  void giveToMmas(unsigned slots, uint64_t begin, uint64_t end, uint64_t now) {
    constexpr unsigned kOrder[] = {7, 5, 3, 1, 6, 2, 4, 0};
    uint64_t taken = 0;
    for (unsigned k = 0; k < std::min(slots, 8u); ++k)
      taken |= 0x0101010101010101ull << kOrder[k];
    board.block(0, taken, begin, end, now);
    board.block(unsigned(Pipe::Fma), 0xaaaaaaaaaaaaaaaaull, begin, end, now);
    board.block(unsigned(Pipe::Alu), 0xccccccccccccccccull, begin, end, now);
    board.block(unsigned(Pipe::Multiply), 0x3c3c3c3c3c3c3c3cull, begin, end,
                now);
    board.block(unsigned(Pipe::Special), 0x0100000001000000ull, begin, end,
                now);
  }

  /// Returns the number of cycles in [begin, end) without an instruction of the
  /// pipe.
  uint64_t unused(Pipe pipe, uint64_t begin, uint64_t end) {
    return board.countFree(unsigned(pipe), begin, end);
  }

  /// Reserves the slots that `count` instructions take beside a running wgmma,
  /// in addition to their own: one for every second instruction of the integer
  /// pipe, and two for a function.
  void takeBesideMma(Pipe pipe, uint64_t cycle, uint64_t count = 1) {
    if (pipe == Pipe::Special)
      schedule(cycle, 2 * count);
    if (pipe != Pipe::Alu)
      return;
    halves += count;
    schedule(cycle, halves / 2);
    halves %= 2;
  }

  /// Prefetches the host memory of the slots at `cycle`.
  void prefetch(uint64_t cycle) const { board.prefetch(cycle); }

private:
  // Column 0 is the scheduler.
  static_assert(unsigned(Pipe::None) == 0 && kPipes < Board::kColumns);
  Board board;
  uint64_t halves = 0;  ///< half a slot that takeBesideMma() still has to take
  bool isThird = false; ///< readThird() has yet to take a cycle
  uint64_t living = 0;  ///< mask of occupied entries
  std::array<uint64_t, kMostWarps> goOn;
};
constexpr unsigned kQuarters = 4;

/// Pipe of tcgen05.mma, cp and shift.
struct TensorPipe {
  Engine engine;
  std::deque<uint64_t> begins; ///< starts of operations, up to the capacity
};

struct Multiprocessor {
  Multiprocessor(uint64_t l1Bytes, uint32_t lastConstants)
      : l1(l1Bytes), constants(lastConstants + 1, ~0ull) {
    constants[0] = 0;
  }
  std::array<Quarter, kQuarters> quarters;
  Slots shared; ///< lines accessed in shared memory and L1
  Busy sharedBusy;
  Engine wgmma;
  const Warp *mmaIssuer = nullptr; ///< first warp of the last warpgroup
  uint64_t mmaIssued = 0;          ///< issue of its last wgmma
  TensorPipe pipe;
  Queue copies{1};      ///< cycles of the copy engine
  Queue rows{1};        ///< incoming rows, on chips with a rate of rows
  double copyIssue = 0; ///< part of `copies` spent on issuing boxes
  Tags l1;
  std::vector<uint64_t> constants; ///< arrival of each line; ~0: not requested
  /// True if tensor maps may have changed. `maps` lists the maps fetched since
  /// then.
  bool hasChangedMaps = false;
  std::vector<uint64_t> maps;
  uint64_t issued = 0, sharedLines = 0;
  uint64_t warpMmas = 0; ///< cycles of mma.sync in all sub-partitions
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MULTIPROCESSOR_H
