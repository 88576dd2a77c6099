//===- Chip.h - Figures of a modelled chip ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each property of a chip is a row of a table: value, range, origin and source.
// Cycles are cycles of the SM clock.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CHIP_H
#define MXSIM_LIB_TIME_CHIP_H

#include "../clocks/Cause.h"
#include "../ptx/Target.h"
#include "mxsim/Time.h"

#include <algorithm>
#include <array>

namespace mx::sim::time {

constexpr Origin kMeasured = Origin::Measured, kPublished = Origin::Published,
                 kDerived = Origin::Derived, kAssumed = Origin::Assumed;

struct Chip {
  std::string_view name;   ///< value of `--time`
  std::string_view gpu;    ///< display name
  std::string_view target; ///< newest target that the chip runs
  unsigned number;         ///< number of `target`, e.g. 90
  std::array<Figure, kFacts> figures;

  /// Returns true for code of this chip's target or family, and for older
  /// targets without an architecture suffix.
  bool runs(const ptx::Target &code) const {
    return code.number == number || (code.number < number && !code.suffix);
  }
  /// Lists supported targets: "sm_90a, or a target up to sm_90 without a
  /// letter".
  std::string targets() const {
    std::string n = "sm_" + std::to_string(number);
    return n + (number >= 100 ? "a, " + n + "f" : "a") +
           ", or a target up to " + n + " without a letter";
  }
  /// Returns false if the chip lacks the feature or another figure covers it.
  /// The value of `fact` is then 0.
  bool has(Fact fact) const { return !figures[unsigned(fact)].name.empty(); }
  double operator[](Fact fact) const { return figures[unsigned(fact)].value; }
  uint64_t cycles(Fact fact) const {
    return uint64_t(figures[unsigned(fact)].value + 0.5);
  }
  /// Returns the cycles of `fact` minus the cycles of `other`. Overrides can
  /// make the difference negative; the result is then 0.
  uint64_t cyclesBeyond(Fact fact, Fact other) const {
    return std::max(cycles(fact), cycles(other)) - cycles(other);
  }
};

extern const Chip kH200, kB200;

/// Finds a chip by name or target; null if there is none.
const Chip *findChip(std::string_view name);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CHIP_H
