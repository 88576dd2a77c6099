//===- Time.h - Modelled execution time of kernels --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chip figures of the time model, and the modelled time of a launch. The model
// is not a measurement; simulator/docs/TimeModel.md lists its errors.
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

/// Provenance of a figure.
enum class Origin : uint8_t {
  Measured,  ///< with simulator/benchmarks/chip on this chip
  Published, ///< by others
  Derived,   ///< computed from measured or published figures
  Assumed,   ///< by analogy with other chips
};
std::string_view toString(Origin origin);

struct Figure {
  std::string_view name;
  double value, low, high;
  std::string_view unit;
  Origin origin;
  std::string_view source;
  std::string_view key = {}; ///< name in options: "wgmma-latency"
};

/// Overrides of chip figures for timed launches.
struct TimeChanges {
  /// Pairs of key and value, in the unit of the table.
  std::vector<std::pair<std::string, double>> figures;
  /// Key of a part of the chip that takes no time, or empty.
  std::string without;
  /// Use the clock under sustained load.
  bool isSustained = false;
};
/// Adds an override "KEY=NUMBER". Returns an error message or an empty string.
std::string setFigure(TimeChanges &changes, std::string_view text);
/// Sets the clock: a number of MHz, or "sustained". Returns an error message or
/// an empty string.
std::string setClock(TimeChanges &changes, std::string_view text);
/// Sets the part that takes no time: tensor, issue, results, shared, copy, l2,
/// hbm, barriers or launch. Returns an error message or an empty string.
std::string setWithout(TimeChanges &changes, std::string_view part);

/// Returns the chips that the model supports: "h200", "b200".
std::vector<std::string_view> namesOfTimedChips();
/// Returns the number of SMs, or 0 for unknown chips. Here and in options, a
/// chip may also be named by its target, such as "sm_90a".
uint32_t smsOfTimedChip(std::string_view name);
/// Returns the chips as a list for messages: "'h200', 'b200'".
std::string listOfTimedChips();
/// Returns the figures in table order; empty for unknown chips.
std::vector<Figure> figuresOfChip(std::string_view name);

/// Utilization of a part of the chip during a launch.
struct PartTime {
  std::string name; ///< "tensor", "issue", "copy engine", "L2", "HBM", ...
  double busy = 0;  ///< fraction of the time, averaged over SMs
};

/// Share of the critical path that is caused by a figure or by instruction
/// issue. The critical path is the causal chain up to the end of the launch.
struct CauseTime {
  std::string key, name;   ///< key and name of the figure
  std::string part;        ///< part of the chip
  double microseconds = 0; ///< all causes add up to the time of the launch
  /// The figure and its provenance.
  double value = 0, low = 0, high = 0;
  std::string unit;
  Origin origin = Origin::Measured;
  /// First-order change of the time at either end of the range, in
  /// microseconds; `fastest` is at most 0.
  double fastest = 0, slowest = 0;
};

/// Time of a launch. WarpStatistics contains the times of warps.
struct LaunchTime {
  bool isModelled = false;
  std::string chip;
  /// True if instruction costs were taken from machine code.
  bool hasMachineCode = false;
  uint64_t cycles = 0; ///< from the first CTA's start to the last one's end
  double mhz = 0;
  double overheadMicroseconds = 0; ///< launch overhead, added to the cycles
  std::vector<PartTime> parts;
  /// Critical path by part, as fractions of the time in descending order, and
  /// by cause, in table order.
  std::vector<PartTime> boundBy;
  std::vector<CauseTime> causes;
  /// Time at either end of the ranges of the figures.
  double lowMicroseconds = 0, highMicroseconds = 0;
  /// With LaunchConfig::skipsMmas: the PTX line that needs accumulators and
  /// thus forced their computation; 0 if none.
  unsigned computedForLine = 0;
  /// Cost of each PTX line, in order. Empty without LaunchConfig::timeLines.
  std::vector<LineCost> lines;
  double l2HitRate = 0; ///< fraction of cache lines
  uint64_t l2Bytes = 0, hbmBytes = 0;
  double microseconds() const {
    return (mhz ? double(cycles) / mhz : 0) + overheadMicroseconds;
  }
};

/// Returns the assumed figures that make the time uncertain by more than 1 %.
std::vector<const CauseTime *> assumedThatMatter(const LaunchTime &time);

} // namespace mx::sim

#endif // MXSIM_TIME_H
