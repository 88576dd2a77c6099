//===- Engines.cpp - Timing of asynchronous operations --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator/docs/TimeModelDesign.md lists the figures of each formula.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

/// Extends `when` to end at `cycle` on `path`, unless `when` ends later.
static void join(Interval &when, uint64_t cycle, const Path &path,
                 Cause cause) {
  if (cycle <= when.end && when.path.cycle())
    return;
  when.end = cycle;
  when.path = path;
  when.path.reach(cycle, cause);
}

/// Returns the path of the copy engine up to `cycle`. Divides the busy time
/// between the issue of boxes and the transfer of their bytes.
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

/// Returns the cycles that the copy engine needs to issue the current copy,
/// without the transfer.
double Stopwatch::copyIssue() const {
  const ptx::Instruction &copy = *machine.program.info[placeOf(current)].source;
  double map = hasModifier(copy, "tensor") ? chip[Fact::CopyMap] : 0;
  return chip[Fact::CopyIssue] + map;
}

/// Returns the figure for the bytes per cycle of the current copy.
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

/// Passes the data of a box through the engine of the receiving SM, or through
/// a separate queue on chips with a figure for rows.
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

/// Cycles until the SM has fetched the tensor map; 0 if the map is cached.
uint64_t Stopwatch::fetchMap(Multiprocessor &sm, uint64_t map) const {
  if (!map || !sm.hasChangedMaps ||
      std::find(sm.maps.begin(), sm.maps.end(), map) != sm.maps.end())
    return 0;
  sm.maps.push_back(map);
  return chip.cycles(Fact::CopyMapChanged);
}

/// The engine of the issuing SM issues the box. The engine of each receiving SM
/// is busy while the data arrives.
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
    recordEnd(when.end, when.path);
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
        // Bytes that L2 has not accepted remain in shared memory.
        all.read = all.end;
        all.readPath = all.path;
        // L2 does not acknowledge stores. A store ends when L2 accepts it.
        all.end += times.far;
        all.path.add(Fact::L2FarLatency, times.far);
        // The source may be overwritten from here on.
        recordEnd(all.read, all.readPath);
        then(all);
      });
}

/// Times a cp.async like loads of the executing lanes.
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
        recordEnd(when.end, when.path);
        then(when);
      });
}

Interval Stopwatch::control(Warp &w, uint64_t from) {
  uint64_t end = from + chip.cycles(Fact::LaunchControl);
  Path path = w.group().path;
  path.reach(end, Fact::LaunchControl);
  recordEnd(end, path);
  return {from, end, end, path, path};
}

/// The first kFirstColumns columns add latency to a wgmma. With A in shared
/// memory, the columns beyond kLateColumns add more.
constexpr unsigned kFirstColumns = 64, kLateColumns = 128;

/// Times a wgmma, which takes N / 2 cycles. For small N, the issue or the reads
/// of A determine the time.
Interval Stopwatch::wgmma(Warp &w, uint64_t from, unsigned columns,
                          bool aInRegisters) {
  double cycles = columns / chip[Fact::WgmmaColumns];
  double least = aInRegisters ? chip[Fact::WgmmaRegistersLeast]
                              : chip[Fact::WgmmaSharedLeast] +
                                    columns / chip[Fact::WgmmaSharedColumns];
  // Above 64 columns, reading A overlaps with the MMAs.
  if (aInRegisters || columns < 64)
    cycles = std::max(cycles, least);
  Engine &engine = smOf(w).wgmma;
  smOf(w).mmaIssuer = firstOfGroup(w);
  smOf(w).mmaIssued = from;
  Interval when;
  when.read = engine.work(from, roundUp(cycles), w.group().path);
  when.begin = engine.begin;
  double sums = columns / chip[Fact::WgmmaColumns];
  if (aInRegisters)
    sums += chip[Fact::WgmmaRegistersRead];
  unsigned slots = unsigned(
      chip[aInRegisters ? Fact::WgmmaRegistersSlots : Fact::WgmmaSlots]);
  if (!hasNoIssue)
    for (Quarter &quarter : smOf(w).quarters)
      quarter.giveToMmas(slots, when.begin, when.begin + uint64_t(sums), now);
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
  recordEnd(when.end, when.path);
  return when;
}
