//===- Time.h - how long a kernel takes, by a model -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures of chips that the model of time uses, and its answer for a launch.
// A model is no measurement: docs/TimeModel.md has its errors.
//===----------------------------------------------------------------------===//

#ifndef MX_SIMULATOR_TIME_H
#define MX_SIMULATOR_TIME_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mx::sim {

/// Where a figure comes from.
enum class Origin : uint8_t {
  Measured,  ///< by a program of benchmarks/chip, on this chip
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
};

/// The chips that there are figures of: "h200", "b200".
std::vector<std::string_view> namesOfTimedChips();
/// Its SMs; 0 for other names.
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

/// The time of a launch. Warps have theirs in WarpStatistics.
struct LaunchTime {
  bool isModelled = false;
  std::string chip;
  uint64_t cycles = 0; ///< from the start of the first CTA to the last end
  double mhz = 0;
  double overheadMicroseconds = 0; ///< of the launch, beside the cycles
  std::vector<PartTime> parts;
  /// Where products were to be left out: the line of the PTX that needs their
  /// values, so that they were computed; 0: none.
  unsigned computedForLine = 0;
  double l2HitRate = 0; ///< of lines, between 0 and 1
  uint64_t l2Bytes = 0, hbmBytes = 0;
  double microseconds() const {
    return (mhz ? double(cycles) / mhz : 0) + overheadMicroseconds;
  }
};

} // namespace mx::sim

#endif // MX_SIMULATOR_TIME_H
