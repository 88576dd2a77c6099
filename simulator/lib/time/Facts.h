//===- Facts.h - what a figure is for ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each figure has a key, by which options name it, and belongs to a part of the
// chip. A cause of time is a figure, or the issue of instructions.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_FACTS_H
#define MXSIM_LIB_TIME_FACTS_H

#include "Chip.h"

namespace mx::sim::time {

enum class Part : uint8_t {
  Tensor,
  Issue,
  Results,
  Shared,
  Copy,
  L2,
  Hbm,
  Barriers,
  Launch,
  Other,
  Count
};
constexpr unsigned kParts = unsigned(Part::Count);

struct PartInfo {
  std::string_view key, name;
};
const PartInfo &infoOf(Part part);

struct FactInfo {
  Fact fact;
  std::string_view key;
  Part part;
};
const FactInfo &infoOf(Fact fact);
/// Also of causes that are no figures.
Part partOf(Cause cause);

/// The figures of the rate and the latency of a source.
struct SourceInfo {
  Fact rate, latency;
};
const SourceInfo &infoOf(Source source);
/// L2 has its rate in cycles or in nanoseconds.
Fact rateOf(const Chip &chip, Source source);

/// How the time of work goes with a figure.
enum class Way : uint8_t { Grows, Falls, Neither };
Way wayOf(const Figure &figure);

/// Whether the chip has the figure with this key.
bool hasFigure(const Chip &chip, std::string_view key);

/// `chip` with figures changed, and with parts that take no time.
Chip changed(const Chip &chip, const TimeChanges &changes);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_FACTS_H
