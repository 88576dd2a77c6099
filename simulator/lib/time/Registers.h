//===- Registers.h - Register uses and definitions --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the registers of a program for dependence tracking.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_REGISTERS_H
#define MXSIM_LIB_TIME_REGISTERS_H

#include "../clocks/Readiness.h"
#include "../machine/Program.h"

namespace mx::sim::time {

/// Registers are numbered from 0 in the order of first use, which keeps related
/// registers adjacent in memory.
class Registers {
public:
  explicit Registers(const Program &program);

  using Part = RegisterPart;
  using Range = RegisterRange;
  /// Registers that instruction `k` waits for, including its guard, and
  /// registers that it defines.
  Range reads(size_t k) const { return rangeOf(uses[k].reads, uses[k].writes); }
  Range writes(size_t k) const { return rangeOf(uses[k].writes, uses[k].end); }
  uint32_t count() const { return numRegisters; }

private:
  struct Uses {
    uint32_t reads, writes, end; ///< indices into `parts`
  };
  Range rangeOf(uint32_t first, uint32_t last) const {
    return {parts.data() + first, parts.data() + last};
  }
  std::vector<Uses> uses; ///< indexed by instruction
  std::vector<Part> parts;
  uint32_t numRegisters = 0;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_REGISTERS_H
