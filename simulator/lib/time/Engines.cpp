//===- Engines.cpp - operations that take time of their own ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator/docs/TimeModel.md says from which figures each formula comes.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// The later of two paths to what an operation needs.
static void join(Interval &when, uint64_t cycle, const Path &path,
                 Cause cause) {
  if (cycle <= when.end && when.path.cycle())
    return;
  when.end = cycle;
  when.path = path;
  when.path.reach(cycle, cause);
}

/// A copy engine is busy with boxes and with their bytes, each in its part.
static Path alongCopies(const Multiprocessor &sm, uint64_t cycle) {
  Path path = sm.copies.path();
  if (cycle <= path.cycle())
    return path;
  double all = std::max(1.0, sm.copies.total());
  uint64_t cycles = cycle - path.cycle();
  path.add(Fact::CopyIssue, uint64_t(double(cycles) * sm.copyIssue / all));
  path.reach(cycle, Fact::CopyBytes);
  return path;
}

/// Cycles of the copy engine for the copy that is issued, beside its bytes.
double Stopwatch::copyIssue() const {
  const ptx::Instruction &copy = *machine.program.info[placeOf(current)].source;
  double map = hasModifier(copy, "tensor") ? chip[Fact::CopyMap] : 0;
  return chip[Fact::CopyIssue] + map;
}

/// The rate at which its bytes pass through the engine.
Fact Stopwatch::copyRate(bool isStore) const {
  const ptx::Instruction &copy = *machine.program.info[placeOf(current)].source;
  Fact rate = Fact::CopyBytes;
  if (isStore)
    rate = copy.opcode == "cp" && hasModifier(copy, "reduce")
               ? Fact::CopyAddBytes
               : Fact::CopyStoreBytes;
  else if (!hasModifier(copy, "tensor"))
    rate = Fact::CopyPlainBytes;
  return chip.has(rate) ? rate : Fact::CopyBytes;
}

/// The rows of a box, where their number counts, have a way of their own.
void Stopwatch::comeIn(Multiprocessor &sm, uint64_t from, const Path &path,
                       const Transfer &t, Interval &when) {
  Fact rate = copyRate(false);
  double cycles = double(t.bytes) / chip[rate];
  if (!chip.has(Fact::CopyRow)) {
    uint64_t end = sm.copies.take(from, cycles, path);
    if (end > when.end)
      join(when, end, alongCopies(sm, end), Fact::CopyBytes);
    return;
  }
  double rows = double(t.pieces.size()) * chip[Fact::CopyRow];
  uint64_t end = sm.rows.take(from, std::max(cycles, rows), path);
  join(when, end, sm.rows.path(), rows > cycles ? Fact::CopyRow : rate);
}

void Stopwatch::forgetMaps(Warp &w) {
  smOf(w).hasChangedMaps = true;
  smOf(w).maps.clear();
}

/// The cycles until the SM holds the map.
uint64_t Stopwatch::fetchMap(Multiprocessor &sm, uint64_t map) const {
  if (!map || !sm.hasChangedMaps ||
      std::find(sm.maps.begin(), sm.maps.end(), map) != sm.maps.end())
    return 0;
  sm.maps.push_back(map);
  return chip.cycles(Fact::CopyMapChanged);
}

/// The engine of the issuing SM takes a box on; that of each SM that gets it is
/// busy while it comes in.
void Stopwatch::load(Warp &w, uint64_t from, uint32_t ranks, Transfer t,
                     Timed then) {
  Interval when;
  Multiprocessor &sm = smOf(w);
  uint64_t issue = uint64_t(copyIssue());
  Path path = w.group().path;
  uint64_t fetch = fetchMap(sm, t.map);
  path.add(Fact::CopyMapChanged, fetch);
  uint64_t taken = sm.copies.take(from + fetch, double(issue), path);
  sm.copyIssue += double(issue);
  when.begin = taken - issue;
  Path begun = alongCopies(sm, when.begin), isTaken = alongCopies(sm, taken);
  join(when, taken, isTaken, Fact::CopyIssue);
  for (; ranks; ranks &= ranks - 1) {
    Multiprocessor &target =
        sms[w.cta->cluster->ctas[unsigned(__builtin_ctz(ranks))]->sm];
    comeIn(target, taken, isTaken, t, when);
  }
  auto finish = [=](Interval when) {
    when.path.add(Fact::CopyLatency, chip.cycles(Fact::CopyLatency));
    when.end += chip.cycles(Fact::CopyLatency);
    ends(when.end, when.path);
    then(when);
  };
  if (t.pieces.empty())
    return finish(std::move(when));
  ask(w, when.begin, begun, std::move(t.pieces), Traffic::Copy,
      [=](Memory::Times &times) {
        Interval all = when;
        join(all, times.hits, times.hitsPath, rateOf(times.hitsSource));
        join(all, times.misses, times.missesPath, Fact::HbmBytesPerNs);
        uint64_t far = times.misses ? chip.cycles(Fact::CopyHbmLatency) : 0;
        all.path.add(Fact::CopyHbmLatency, far);
        all.end += far;
        if (times.underWay)
          join(all, times.underWay + chip.cycles(Fact::CopyHbmLatency),
               times.underWayPath, Fact::CopyHbmLatency);
        all.path.add(Fact::L2FarLatency, times.far);
        all.end += times.far;
        finish(std::move(all));
      });
}

void Stopwatch::store(Warp &w, uint64_t from, Transfer t, Timed then) {
  Interval when;
  Multiprocessor &sm = smOf(w);
  Path path = w.group().path;
  uint64_t fetch = fetchMap(sm, t.map);
  path.add(Fact::CopyMapChanged, fetch);
  from += fetch;
  double issue = copyIssue();
  double work = issue + double(t.bytes) / chip[copyRate(true)];
  when.read = sm.copies.take(from, work, path);
  sm.copyIssue += issue;
  when.readPath = alongCopies(sm, when.read);
  when.begin = from;
  ask(w, from, path, std::move(t.pieces), Traffic::Store,
      [=](Memory::Times &times) {
        Interval all = when;
        join(all, all.read, all.readPath, Fact::CopyBytes);
        join(all, times.hits, times.hitsPath, rateOf(times.hitsSource));
        // What L2 does not take stays in shared memory.
        all.read = all.end;
        all.readPath = all.path;
        // The store ends when L2 has taken it, without an answer.
        all.end += times.far;
        all.path.add(Fact::L2FarLatency, times.far);
        // From then on its source may change.
        ends(all.read, all.readPath);
        then(all);
      });
}

/// As loads of threads, which the instruction's lanes are.
void Stopwatch::copyAsync(Warp &w, uint64_t from, Transfer t, Timed then) {
  Multiprocessor &sm = smOf(w);
  uint64_t through = sm.shared.take(from, t.pieces.size());
  Path path = sm.sharedBusy.serve(from, through >= from + t.pieces.size(),
                                  w.group().path);
  path.reach(through, Fact::SharedBytes);
  ask(w, through, path, std::move(t.pieces), Traffic::Load,
      [=](Memory::Times &times) {
        Interval when;
        when.begin = from;
        auto arrive = [&](uint64_t cycle, Path path, Source source) {
          path.reach(cycle, rateOf(source));
          Fact latency = infoOf(source).latency;
          join(when, cycle + chip.cycles(latency), path, latency);
        };
        arrive(times.hits + times.far, std::move(times.hitsPath),
               times.hitsSource);
        if (times.misses)
          arrive(times.misses, std::move(times.missesPath), Source::Hbm);
        if (times.underWay)
          arrive(times.underWay, std::move(times.underWayPath), Source::Hbm);
        ends(when.end, when.path);
        then(when);
      });
}

Interval Stopwatch::control(Warp &w, uint64_t from) {
  uint64_t end = from + chip.cycles(Fact::LaunchControl);
  Path path = w.group().path;
  path.reach(end, Fact::LaunchControl);
  ends(end, path);
  return {from, end, end, path, path};
}

/// Columns whose sums come later, and those whose sums come later still.
constexpr unsigned kFirstColumns = 64, kLateColumns = 128;

/// N / 2 cycles; few columns wait for the rows of A, or for the issue.
Interval Stopwatch::wgmma(Warp &w, uint64_t from, unsigned columns,
                          bool aInRegisters) {
  double cycles = columns / chip[Fact::WgmmaColumns];
  double least = aInRegisters ? chip[Fact::WgmmaRegistersLeast]
                              : chip[Fact::WgmmaSharedLeast] +
                                    columns / chip[Fact::WgmmaSharedColumns];
  // Beyond 64 columns the rows of A are read beside the MMAs.
  if (aInRegisters || columns < 64)
    cycles = std::max(cycles, least);
  Engine &engine = smOf(w).wgmma;
  Interval when;
  when.read = engine.work(from, roundUp(cycles), w.group().path);
  when.begin = engine.begin;
  double sums = columns / chip[Fact::WgmmaColumns];
  if (aInRegisters)
    sums += chip[Fact::WgmmaRegistersRead];
  if (!hasNoIssue)
    for (Quarter &quarter : smOf(w).quarters)
      quarter.giveToMmas(unsigned(chip[Fact::WgmmaSlots]), when.begin,
                         when.begin + uint64_t(sums), now);
  if (cycles > least) {
    engine.path.reach(when.read, Fact::WgmmaColumns);
  } else if (aInRegisters) {
    engine.path.reach(when.read, Fact::WgmmaRegistersLeast);
  } else {
    uint64_t rows = chip.cycles(Fact::WgmmaSharedLeast);
    engine.path.reach(std::min(when.read, when.begin + rows),
                      Fact::WgmmaSharedLeast);
    engine.path.reach(when.read, Fact::WgmmaSharedColumns);
  }
  when.path = when.readPath = engine.path;
  when.path.add(Fact::WgmmaLatency, chip.cycles(Fact::WgmmaLatency));
  Fact rate =
      aInRegisters ? Fact::WgmmaRegistersColumns : Fact::WgmmaLatencyColumns;
  when.path.add(rate, roundUp(std::min(columns, kFirstColumns) / chip[rate]));
  if (!aInRegisters && columns > kLateColumns)
    when.path.add(
        Fact::WgmmaLatencyLate,
        roundUp((columns - kLateColumns) / chip[Fact::WgmmaLatencyLate]));
  when.end = when.read + when.path.cycle() - engine.path.cycle();
  ends(when.end, when.path);
  return when;
}
