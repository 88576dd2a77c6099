//===- Engines.cpp - operations that take time of their own ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/TimeModel.md says from which figures each formula comes.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// The rows of a box, where their number counts, have a way of their own.
uint64_t Stopwatch::comeIn(Multiprocessor &sm, uint64_t from,
                           const Transfer &t) {
  double cycles = double(t.bytes) / chip[Fact::CopyBytes];
  if (!chip.has(Fact::CopyRow))
    return sm.copies.take(from, cycles);
  double rows = double(t.pieces.size()) * chip[Fact::CopyRow];
  return sm.rows.take(from, std::max(cycles, rows));
}

/// The engine of the issuing SM takes a box on; that of each SM that gets it is
/// busy while it comes in.
Interval Stopwatch::load(Warp &w, uint64_t from, uint32_t ranks,
                         const Transfer &t) {
  Interval when;
  uint64_t issue = chip.cycles(Fact::CopyIssue);
  uint64_t taken = smOf(w).copies.take(from, double(issue));
  when.begin = taken - issue;
  Memory::Times times;
  if (!t.pieces.empty())
    times = memory.pass(w.cta->sm, when.begin, t.pieces, false,
                        chip[Fact::CopyHbmCost]);
  uint64_t end = std::max({taken, times.hits, times.misses});
  for (; ranks; ranks &= ranks - 1) {
    Cta &target = *w.cta->cluster->ctas[unsigned(__builtin_ctz(ranks))];
    end = std::max(end, comeIn(sms[target.sm], taken, t));
  }
  if (times.misses)
    end += chip.cycles(Fact::CopyHbmLatency);
  when.end = completion = end + times.far + chip.cycles(Fact::CopyLatency);
  return when;
}

Interval Stopwatch::store(Warp &w, uint64_t from, const Transfer &t) {
  Interval when;
  double work = chip[Fact::CopyIssue] + double(t.bytes) / chip[Fact::CopyBytes];
  when.read = smOf(w).copies.take(from, work);
  when.begin = from;
  Memory::Times times = memory.pass(w.cta->sm, from, t.pieces, true);
  when.end = completion = std::max(when.read, times.hits) + times.far +
                          chip.cycles(Fact::L2Latency);
  return when;
}

/// As loads of threads, which the instruction's lanes are.
Interval Stopwatch::copyAsync(Warp &w, uint64_t from, const Transfer &t) {
  uint64_t through = smOf(w).shared.take(from, t.pieces.size());
  Memory::Times times = memory.pass(w.cta->sm, through, t.pieces, false);
  Interval when;
  when.begin = from;
  when.end = times.hits + times.far + chip.cycles(Fact::L2Latency);
  if (times.misses)
    when.end = std::max(when.end, times.misses + chip.cycles(Fact::HbmLatency));
  completion = when.end;
  return when;
}

Interval Stopwatch::control(uint64_t from) {
  completion = from + chip.cycles(Fact::LaunchControl);
  return {from, completion, completion};
}

/// N / 2 cycles; few columns wait for the rows of A, or for the issue.
Interval Stopwatch::wgmma(Warp &w, uint64_t from, unsigned columns,
                          bool aInRegisters) {
  double cycles = columns / chip[Fact::WgmmaColumns];
  double least = aInRegisters ? chip[Fact::WgmmaRegistersLeast]
                              : chip[Fact::WgmmaSharedLeast] +
                                    columns / chip[Fact::WgmmaSharedColumns];
  // Beyond 64 columns the rows of A are read beside the products.
  if (aInRegisters || columns < 64)
    cycles = std::max(cycles, least);
  Engine &engine = smOf(w).wgmma;
  Interval when;
  when.read = engine.work(from, roundUp(cycles));
  when.begin = engine.begin;
  when.end = completion =
      when.read + roundUp(chip[Fact::WgmmaLatency] +
                          columns / chip[Fact::WgmmaLatencyColumns]);
  return when;
}

void Stopwatch::finish(LaunchTime &time, uint64_t cycles) {
  time.isModelled = true;
  time.chip = chip.name;
  time.cycles = cycles;
  time.mhz = mhz;
  time.overheadMicroseconds = chip[Fact::LaunchOverhead];
  double copies = 0;
  uint64_t tensor = 0, issued = 0, shared = 0;
  for (const Multiprocessor &sm : sms) {
    tensor += sm.wgmma.total + sm.pipe.engine.total;
    copies += std::max(sm.copies.total, sm.rows.total);
    issued += sm.issued;
    shared += sm.sharedLines;
  }
  double all = std::max(1.0, double(cycles) * double(sms.size()));
  double most = std::max(1.0, double(cycles));
  time.parts = {
      {"tensor core", double(tensor) / all},
      {"issue", double(issued) / all / kQuarters},
      {"shared memory", double(shared) / all},
      {"copy engine", copies / all},
      {"L2", memory.l2().total / most / memory.l2Rate},
      {"HBM", memory.hbm().total / most / memory.hbmRate},
  };
  time.l2HitRate =
      memory.lines ? double(memory.hits) / double(memory.lines) : 0;
  time.l2Bytes = uint64_t(memory.l2().total);
  time.hbmBytes = uint64_t(memory.hbm().total);
}
