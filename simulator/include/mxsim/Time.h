//===- Time.h - how long a kernel takes, by a model -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures of chips that the model of time uses, and its answer for a
// launch. A model is no measurement: simulator/docs/TimeModel.md has its
// errors.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TIME_H
#define MXSIM_TIME_H

#include "mxsim/LineCost.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mx::sim {

/// Where a figure comes from.
enum class Origin : uint8_t {
  Measured,  ///< by a program of simulator/benchmarks/chip, on this chip
  Published, ///< by others
  Derived,   ///< by arithmetic from figures that were measured or published
  Assumed,   ///< by likeness with other chips
};
std::string_view toString(Origin origin);

struct Figure {
  std::string_view name;
  double value, low, high;
  std::string_view unit;
  Origin origin;
  std::string_view source;
  std::string_view key = {}; ///< as options name it: "wgmma-latency"
};

/// Other figures than those of the table, for launches that are timed.
struct TimeChanges {
  /// By key, in the unit of the table.
  std::vector<std::pair<std::string, double>> figures;
  /// The key of a part of the chip that takes no time; empty: none.
  std::string without;
  /// The clock is that of a launch that goes on and on.
  bool isSustained = false;
};
/// Adds "KEY=NUMBER". Returns what is wrong with it, or nothing.
std::string setFigure(TimeChanges &changes, std::string_view text);
/// The same for the clock: a number of MHz, or "sustained".
std::string setClock(TimeChanges &changes, std::string_view text);
/// The same for a part: tensor, issue, results, shared, copy, l2, hbm,
/// barriers or launch.
std::string setWithout(TimeChanges &changes, std::string_view part);

/// The chips that there are figures of: "h200", "b200".
std::vector<std::string_view> namesOfTimedChips();
/// Its SMs; 0 for other names. Here and in options the target of a chip,
/// "sm_90a", is a name of it, too.
uint32_t smsOfTimedChip(std::string_view name);
/// For messages: "'h200', 'b200'".
std::string listOfTimedChips();
/// Their figures, in the order of the table; empty for other names.
std::vector<Figure> figuresOfChip(std::string_view name);

/// What a part of the chip did during a launch.
struct PartTime {
  std::string name; ///< "tensor", "issue", "copy engine", "L2", "HBM", ...
  double busy = 0;  ///< of the time, between 0 and 1, mean of all SMs
};

/// What a figure, or the issue of instructions, took of the critical path: the
/// chain of causes that leads to the end of the launch.
struct CauseTime {
  std::string key, name;   ///< of the figure
  std::string part;        ///< that it belongs to
  double microseconds = 0; ///< all together are the time of the launch
  /// The figure, and where it comes from.
  double value = 0, low = 0, high = 0;
  std::string unit;
  Origin origin = Origin::Measured;
  /// What the time would change by at the ends of its range, in microseconds,
  /// to first order; the first is not positive.
  double fastest = 0, slowest = 0;
};

/// The time of a launch. Warps have theirs in WarpStatistics.
struct LaunchTime {
  bool isModelled = false;
  std::string chip;
  /// Instructions were priced by machine code.
  bool hasMachineCode = false;
  uint64_t cycles = 0; ///< from the start of the first CTA to the last end
  double mhz = 0;
  double overheadMicroseconds = 0; ///< of the launch, beside the cycles
  std::vector<PartTime> parts;
  /// The critical path by part, of the time, the greatest first; and by cause,
  /// in the order of the table of figures.
  std::vector<PartTime> boundBy;
  std::vector<CauseTime> causes;
  /// The time at the ends of the ranges of figures.
  double lowMicroseconds = 0, highMicroseconds = 0;
  /// Where MMAs were to be left out: the line of the PTX that needs their
  /// values, so that they were computed; 0: none.
  unsigned computedForLine = 0;
  /// What each line of the PTX cost, in their order; where
  /// LaunchConfig::timeLines asks for it.
  std::vector<LineCost> lines;
  double l2HitRate = 0; ///< of lines, between 0 and 1
  uint64_t l2Bytes = 0, hbmBytes = 0;
  double microseconds() const {
    return (mhz ? double(cycles) / mhz : 0) + overheadMicroseconds;
  }
};

/// Assumed figures by which the time may be more than 1 % off.
std::vector<const CauseTime *> assumedThatMatter(const LaunchTime &time);

} // namespace mx::sim

#endif // MXSIM_TIME_H
