//===- Chip.h - figures of a chip for the model of time ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that the model of time knows of a chip is a row of a table: a
// value, the range in which it may lie, where it comes from, and the source.
// Cycles are those of the SM's clock.
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
  std::string_view name;   ///< as `--time` takes it
  std::string_view gpu;    ///< for people
  std::string_view target; ///< the latest that it runs
  unsigned number;         ///< of that target
  std::array<Figure, kFacts> figures;

  /// Code for its own target or family, or of any chip before it that is not
  /// for that chip or family alone.
  bool runs(const ptx::Target &code) const {
    return code.number == number || (code.number < number && !code.suffix);
  }
  /// "sm_90a, or a target up to sm_90 without a letter".
  std::string targets() const {
    std::string n = "sm_" + std::to_string(number);
    return n + (number >= 100 ? "a, " + n + "f" : "a") +
           ", or a target up to " + n + " without a letter";
  }
  /// False of what the chip lacks, or what another figure says; it is 0 then.
  bool has(Fact fact) const { return !figures[unsigned(fact)].name.empty(); }
  double operator[](Fact fact) const { return figures[unsigned(fact)].value; }
  uint64_t cycles(Fact fact) const {
    return uint64_t(figures[unsigned(fact)].value + 0.5);
  }
  /// What one has more than the other; a run may leave the first out.
  uint64_t cyclesBeyond(Fact fact, Fact other) const {
    return std::max(cycles(fact), cycles(other)) - cycles(other);
  }
};

extern const Chip kH200, kB200;

/// Null where there is no chip of this name, nor with this target.
const Chip *findChip(std::string_view name);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CHIP_H
