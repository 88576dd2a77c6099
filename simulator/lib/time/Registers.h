//===- Registers.h - registers that instructions wait for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the registers of a program, and lists those that each instruction
// reads and writes.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_REGISTERS_H
#define MXSIM_LIB_TIME_REGISTERS_H

#include "../clocks/Readiness.h"
#include "../machine/Program.h"

namespace mx::sim::time {

/// The registers of a program, by numbers from 0 on in the order in which the
/// text names them: what is used together lies side by side in memory.
class Registers {
public:
  explicit Registers(const Program &program);

  using Part = RegisterPart;
  using Range = RegisterRange;
  /// What instruction `k` waits for, its guard included, and what it writes
  /// that others may wait for.
  Range reads(size_t k) const { return rangeOf(uses[k].reads, uses[k].writes); }
  Range writes(size_t k) const { return rangeOf(uses[k].writes, uses[k].end); }
  uint32_t count() const { return numRegisters; }

private:
  struct Uses {
    uint32_t reads, writes, end; ///< places in `parts`
  };
  Range rangeOf(uint32_t first, uint32_t last) const {
    return {parts.data() + first, parts.data() + last};
  }
  std::vector<Uses> uses; ///< by instruction
  std::vector<Part> parts;
  uint32_t numRegisters = 0;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_REGISTERS_H
