//===- Account.cpp - Critical path by cause and error band ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator/docs/TimeModelDesign.md explains the error band.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <algorithm>
#include <cmath>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

/// Range of the issue cost, relative to the modelled cost.
struct IssueRange {
  double low, high;
};
/// Prices of PTX are too high because ptxas drops and merges instructions. With
/// machine code only the execution order is uncertain.
constexpr IssueRange kOfPtx = {0.6, 1.1}, kOfMachineCode = {0.95, 1.1};

/// Accumulated change of the time in one direction.
struct Changes {
  double squares = 0; ///< from figures with independent errors
  double assumed = 0; ///< from figures with correlated errors
  void add(double change, Origin origin) {
    if (origin == Origin::Assumed)
      assumed += std::abs(change);
    else
      squares += change * change;
  }
  double all() const { return std::sqrt(squares + assumed * assumed); }
};

} // namespace

/// Returns the change of `time` if `figure` had the value `value`.
static double changeOf(const Figure &figure, double time, double value) {
  switch (wayOf(figure)) {
  case Way::Grows:
    return figure.value > 0 ? time * (value / figure.value - 1) : 0;
  case Way::Falls:
    return value > 0 ? time * (figure.value / value - 1) : 0;
  case Way::Neither:
    return 0;
  }
  return 0;
}

static CauseTime causeOf(const Figure &figure, Fact fact, double time) {
  CauseTime c;
  c.key = infoOf(fact).key;
  c.name = figure.name;
  c.value = figure.value;
  c.low = figure.low;
  c.high = figure.high;
  c.unit = figure.unit;
  c.origin = figure.origin;
  double low = changeOf(figure, time, figure.low);
  double high = changeOf(figure, time, figure.high);
  c.fastest = std::min({low, high, 0.0});
  c.slowest = std::max({low, high, 0.0});
  return c;
}

static CauseTime causeOf(Cause cause, double time, const IssueRange &range) {
  CauseTime c;
  bool isOther = cause == kOther;
  c.key = isOther ? "other" : "issue";
  c.name = isOther ? "other causes" : "slots of schedulers and pipes";
  c.value = c.low = c.high = 1;
  c.origin = Origin::Derived;
  if (cause == kIssue) {
    c.low = range.low;
    c.high = range.high;
    c.fastest = time * (range.low - 1);
    c.slowest = time * (range.high - 1);
  }
  return c;
}

void Model::addCauses(LaunchTime &time, const Path &path) const {
  Changes faster, slower;
  std::array<double, kParts> parts = {};
  for (unsigned k = 0; k < kCauses; ++k) {
    Cause cause = Cause(k);
    double share = double(path.of(cause)) / time.mhz;
    if (cause == Fact::LaunchOverhead)
      share += time.overheadMicroseconds;
    if (share <= 0)
      continue;
    CauseTime c =
        k < kFacts
            ? causeOf(chip.figures[k], cause, share)
            : causeOf(cause, share, hasMachineCode ? kOfMachineCode : kOfPtx);
    c.part = infoOf(partOf(cause)).name;
    c.microseconds = share;
    faster.add(c.fastest, c.origin);
    slower.add(c.slowest, c.origin);
    parts[unsigned(partOf(cause))] += share;
    time.causes.push_back(std::move(c));
  }
  double all = time.microseconds();
  time.lowMicroseconds = all - std::min(all, faster.all());
  time.highMicroseconds = all + slower.all();
  for (unsigned k = 0; k < kParts; ++k)
    if (parts[k] > 0)
      time.boundBy.push_back(
          {std::string(infoOf(Part(k)).name), parts[k] / all});
  std::stable_sort(
      time.boundBy.begin(), time.boundBy.end(),
      [](const PartTime &a, const PartTime &b) { return a.busy > b.busy; });
}

std::vector<const CauseTime *>
mx::sim::assumedThatMatter(const LaunchTime &time) {
  constexpr double kMatters = 0.01;
  std::vector<const CauseTime *> all;
  for (const CauseTime &c : time.causes)
    if (c.origin == Origin::Assumed &&
        std::max(-c.fastest, c.slowest) > kMatters * time.microseconds())
      all.push_back(&c);
  return all;
}

/// Adds the end of the kernel: the chip must notice the end of each CTA. A
/// kernel that accessed memory also flushes its stores and invalidates L1.
void Model::endKernel(uint64_t &cycles, Path &path) const {
  if (memory.stored > cycles) {
    path = memory.storedPath;
    path.reach(memory.stored, rateOf(chip, Source::L2));
    cycles = memory.stored;
  }
  if (ctasEnded > cycles) {
    path = ctaEnds.path();
    cycles = ctasEnded;
    path.reach(cycles, Fact::CtaEnd);
  }
  if (memory.lines) {
    path.reach(cycles, kOther);
    cycles += chip.cycles(Fact::MemoryEnd);
    path.reach(cycles, Fact::MemoryEnd);
  }
}

void Model::giveCta(uint64_t cycle, const Path &path) {
  ctaEnds.take(cycle, chip[Fact::CtaGive], path);
}

void Model::endCta(uint64_t cycle, const Path &path) {
  ctasEnded =
      std::max(ctasEnded, ctaEnds.take(cycle, chip[Fact::CtaEnd], path));
}

void Model::finish(LaunchTime &time, uint64_t cycles, Path path) {
  time.isModelled = true;
  time.chip = chip.name;
  endKernel(cycles, path);
  time.hasMachineCode = hasMachineCode;
  time.cycles = cycles;
  time.overheadMicroseconds = chip[Fact::LaunchOverhead];
  double copies = 0;
  uint64_t tensor = 0, issued = 0, shared = 0;
  for (const Multiprocessor &sm : sms) {
    tensor += sm.wgmma.total + sm.pipe.engine.total + sm.warpMmas / kQuarters;
    copies += std::max(sm.copies.total(), sm.rows.total());
    issued += sm.issued;
    shared += sm.sharedLines;
  }
  double all = std::max(1.0, double(cycles) * double(sms.size()));
  double most = std::max(1.0, double(cycles));
  time.mhz = mhz;
  if (!hasFixedClock && mhz == chip[Fact::TensorMHz]) {
    double busy = double(tensor) / all, time1 = chip[Fact::TensorBusyTime];
    double drop = machine.config.timeChanges.isSustained
                      ? 1
                      : 1 - std::exp(-double(cycles) / mhz / time1);
    time.mhz -= chip[Fact::TensorBusyMHz] * std::min(1.0, busy) * drop;
  }
  time.parts = {
      {"tensor core", double(tensor) / all},
      {"issue", double(issued) / all / kQuarters},
      {"shared memory", double(shared) / all},
      {"copy engine", copies / all},
      {"L2", memory.l2Work() / most / memory.l2Rate},
      {"HBM", memory.hbmBytes() / most / memory.hbmRate},
  };
  time.l2HitRate =
      memory.lines ? double(memory.hits) / double(memory.lines) : 0;
  time.l2Bytes = uint64_t(memory.l2Bytes());
  time.hbmBytes = uint64_t(memory.hbmBytes());
  path.reach(cycles, kOther);
  addCauses(time, path);
  if (lines)
    time.lines = lines->costs();
}
