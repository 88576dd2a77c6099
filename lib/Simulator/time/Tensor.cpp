//===- Tensor.cpp - tcgen05 over time -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pipe an SM works in order at what threads give it; an operation of a pair
// needs the pipes of both SMs. Tensor memory gives and takes registers by a
// port for each quarter of an SM. docs/TimeModel.md says from which figures the
// formulas come.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// `tail`: from the end of its work until an mbarrier can know.
Interval Stopwatch::throughPipes(Warp &w, uint64_t from, unsigned group,
                                 uint64_t cycles, uint64_t tail) {
  Cluster &cluster = *w.cta->cluster;
  uint32_t first = group == 2 ? w.cta->rank & ~1u : w.cta->rank;
  Interval when{from, 0, 0};
  auto pipe = [&](unsigned k) -> TensorPipe & {
    return sms[cluster.ctas[first + k]->sm].pipe;
  };
  for (unsigned k = 0; k < group; ++k)
    when.begin = std::max(when.begin, pipe(k).engine.next());
  for (unsigned k = 0; k < group; ++k)
    when.read = pipe(k).engine.work(when.begin, cycles);
  w.tensorDone = std::max(w.tensorDone, when.read + tail);
  when.end = completion = w.tensorDone;

  // Who gives it more than it holds waits.
  std::deque<uint64_t> &queue = smOf(w).pipe.begins;
  queue.push_back(when.begin);
  if (queue.size() > chip.cycles(Fact::TcgenQueue)) {
    w.group().step = std::max(w.group().step, queue.front());
    queue.pop_front();
  }
  return when;
}

/// N / 2 cycles for 32 bytes of K and up to 128 rows in each SM, or what it
/// takes to read the operands. A is read before the products begin.
Interval Stopwatch::mma(Warp &w, uint64_t from, const MmaOp &op,
                        const InstrDesc &desc) {
  constexpr double kRowBytes = 32;
  bool isPair = op.ctaGroup == 2;
  double products = desc.n / chip[Fact::TcgenColumns];
  if (isPair && desc.m <= 128)
    products /= 2;
  double rowsOfA = op.aInTensorMemory ? 0 : desc.m / op.ctaGroup;
  double rowsOfB = desc.n / op.ctaGroup * (op.sparse ? 2 : 1);
  double readA = rowsOfA * kRowBytes / chip[Fact::TcgenReadBytes];
  double reads = readA + rowsOfB * kRowBytes / chip[Fact::TcgenReadBytes];
  if (isPair && rowsOfA > 64)
    reads += chip[Fact::TcgenPairRead];
  double cycles = std::max({products, reads, chip[Fact::TcgenLeast]});
  double latency = chip[isPair ? Fact::TcgenPairLatency : Fact::TcgenLatency];
  double tail = latency + std::max(0.0, readA + products - cycles);
  return throughPipes(w, from, op.ctaGroup, roundUp(cycles), roundUp(tail));
}

Interval Stopwatch::copyToTensor(Warp &w, uint64_t from, unsigned group,
                                 uint64_t bytes) {
  double cycles =
      std::max(chip[Fact::TcgenCopy], double(bytes) / chip[Fact::SharedBytes]);
  return throughPipes(w, from, group, roundUp(cycles),
                      chip.cycles(Fact::TcgenCopyLatency));
}

/// After all that the warp has given to the pipe.
Interval Stopwatch::commit(Warp &w, uint64_t from) {
  completion = std::max(w.tensorDone, from + chip.cycles(Fact::TcgenCommit));
  return {completion, completion, completion};
}

/// tcgen05.ld and tcgen05.st of a warp, which are there after a wait.
void Stopwatch::accessTensor(Warp &w, unsigned registers, bool isLoad) {
  double cycles = registers * chip[isLoad ? Fact::TmemLoad : Fact::TmemStore];
  Quarter &quarter = smOf(w).quarters[w.index % kQuarters];
  uint64_t through = quarter.tensorMemory.take(issuedAt, roundUp(cycles));
  uint64_t done = through + chip.cycles(isLoad ? Fact::TmemLoadLatency
                                               : Fact::TmemStoreLatency);
  uint64_t &latest = isLoad ? w.tensorLoads : w.tensorStores;
  latest = std::max(latest, done);
  if (isLoad)
    arrival = done;
}

void Stopwatch::waitTensor(Warp &w, bool isLoad) {
  Group &g = w.group();
  g.step = std::max(g.step, isLoad ? w.tensorLoads : w.tensorStores);
}
