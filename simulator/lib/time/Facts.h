//===- Facts.h - Keys and parts of figures ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each figure has a key for command-line options and belongs to a part of the
// chip. A cause of time is a figure or the issue of instructions.
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
  std::string_view name, unit;
};
const FactInfo &infoOf(Fact fact);
/// Returns the part of the chip for `cause`.
Part partOf(Cause cause);

/// Figures for the rate and the latency of a source of data.
struct SourceInfo {
  Fact rate, latency;
};
const SourceInfo &infoOf(Source source);
/// Returns the figure for the rate of `source`. The L2 rate of a chip is per
/// cycle or per nanosecond.
Fact rateOf(const Chip &chip, Source source);

/// Effect of a larger figure on the time: it grows, falls, or does neither.
enum class Way : uint8_t { Grows, Falls, Neither };
Way wayOf(const Figure &figure);

bool hasFigure(const Chip &chip, std::string_view key);

/// Returns `chip` with the overridden figures, and with the excluded parts at
/// latency 0 and unlimited rate.
Chip changed(const Chip &chip, const TimeChanges &changes);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_FACTS_H
