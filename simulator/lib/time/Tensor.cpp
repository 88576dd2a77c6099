//===- Tensor.cpp - Timing of tcgen05 -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each SM has an in-order pipe. An operation of a CTA pair uses the pipes of
// both SMs. Tensor memory has a port for each sub-partition.
// simulator/docs/TimeModelDesign.md lists the figures of each formula.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// Occupies the pipes of `group` SMs for `cycles` due to `cause`. An mbarrier
/// can observe the end of the work `tail` cycles later.
Interval Stopwatch::throughPipes(Warp &w, uint64_t from, unsigned group,
                                 uint64_t cycles, Fact cause, uint64_t tail,
                                 Fact latency) {
  Cluster &cluster = *w.cta->cluster;
  uint32_t first = group == 2 ? w.cta->rank & ~1u : w.cta->rank;
  Interval when;
  when.begin = from;
  auto pipe = [&](unsigned k) -> TensorPipe & {
    return sms[cluster.ctas[first + k]->sm].pipe;
  };
  for (unsigned k = 0; k < group; ++k)
    when.begin = std::max(when.begin, pipe(k).engine.next());
  for (unsigned k = 0; k < group; ++k)
    when.read = pipe(k).engine.work(when.begin, cycles, w.group().path);
  // The path of a pair is the path of the pipe that was busy longer.
  Engine *longer = &pipe(0).engine;
  for (unsigned k = 1; k < group; ++k)
    if (pipe(k).engine.path.cycle() > longer->path.cycle())
      longer = &pipe(k).engine;
  when.path = longer->path;
  when.path.reach(when.read, cause);
  for (unsigned k = 0; k < group; ++k)
    pipe(k).engine.path = when.path;
  when.readPath = when.path;
  if (when.read + tail >= w.tensorDone) {
    w.tensorDone = when.read + tail;
    when.path.reach(w.tensorDone, latency);
    w.tensorPath = when.path;
  }
  when.end = w.tensorDone;
  recordEnd(when.end, w.tensorPath);

  // An issuer waits while the queue is full.
  std::deque<uint64_t> &queue = smOf(w).pipe.begins;
  queue.push_back(when.begin);
  if (queue.size() > chip.cycles(Fact::TcgenQueue)) {
    w.group().step = std::max(w.group().step, queue.front());
    queue.pop_front();
  }
  return when;
}

/// Times a tcgen05.mma. The MMA takes N / 2 cycles for 32 bytes of K and up to
/// 128 rows in each SM, or the time to read the operands, if longer. Operand A
/// is read before the multiplications start.
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
  Fact cause = cycles > std::max(products, reads) ? Fact::TcgenLeast
               : products >= reads                ? Fact::TcgenColumns
                                                  : Fact::TcgenReadBytes;
  return throughPipes(w, from, op.ctaGroup, roundUp(cycles), cause,
                      roundUp(tail),
                      isPair ? Fact::TcgenPairLatency : Fact::TcgenLatency);
}

Interval Stopwatch::copyToTensor(Warp &w, uint64_t from, unsigned group,
                                 uint64_t bytes) {
  double cycles =
      std::max(chip[Fact::TcgenCopy], double(bytes) / chip[Fact::SharedBytes]);
  return throughPipes(w, from, group, roundUp(cycles), Fact::TcgenCopy,
                      chip.cycles(Fact::TcgenCopyLatency),
                      Fact::TcgenCopyLatency);
}

/// Times a commit. It completes after all earlier operations of the warp in the
/// pipe.
Interval Stopwatch::commit(Warp &w, uint64_t from) {
  uint64_t end = from + chip.cycles(Fact::TcgenCommit);
  Path path = w.group().path;
  path.reach(end, Fact::TcgenCommit);
  if (w.tensorDone > end) {
    end = w.tensorDone;
    path = w.tensorPath;
  }
  recordEnd(end, path);
  return {end, end, end, path, path};
}

/// Times a tcgen05.ld or tcgen05.st of a warp. waitTensor() waits for its end.
void Stopwatch::accessTensor(Warp &w, unsigned registers, bool isLoad) {
  double cycles = registers * chip[isLoad ? Fact::TmemLoad : Fact::TmemStore];
  Quarter &quarter = quarterOf(w);
  uint64_t through = quarter.tensorMemory.take(issuedAt, roundUp(cycles));
  Fact latency = isLoad ? Fact::TmemLoadLatency : Fact::TmemStoreLatency;
  uint64_t done = through + chip.cycles(latency);
  uint64_t &latest = isLoad ? w.tensorLoads : w.tensorStores;
  latest = std::max(latest, done);
  if (isLoad)
    arrival = std::max(arrival, Moment(done, latency));
}

void Stopwatch::waitTensor(Warp &w, bool isLoad) {
  Group &g = w.group();
  uint64_t done = isLoad ? w.tensorLoads : w.tensorStores;
  g.path.reach(done, isLoad ? Fact::TmemLoadLatency : Fact::TmemStoreLatency);
  g.step = std::max(g.step, done);
}
