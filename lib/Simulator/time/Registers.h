//===- Registers.h - registers that instructions wait for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_REGISTERS_H
#define MX_LIB_SIMULATOR_TIME_REGISTERS_H

#include "../machine/Program.h"

namespace mx::sim::time {

/// The registers of a program, by numbers from 0 on in the order in which the
/// text names them: what is used together lies side by side in memory.
class Registers {
public:
  explicit Registers(const Program &program);

  struct Range {
    const uint32_t *first, *last;
    const uint32_t *begin() const { return first; }
    const uint32_t *end() const { return last; }
    bool empty() const { return first == last; }
  };
  /// What instruction `k` waits for, its guard included, and what it writes
  /// that others may wait for.
  Range reads(size_t k) const { return rangeOf(uses[k].reads, uses[k].writes); }
  Range writes(size_t k) const { return rangeOf(uses[k].writes, uses[k].end); }
  uint32_t count() const { return numRegisters; }

private:
  struct Uses {
    uint32_t reads, writes, end; ///< places in `numbers`
  };
  Range rangeOf(uint32_t first, uint32_t last) const {
    return {numbers.data() + first, numbers.data() + last};
  }
  std::vector<Uses> uses; ///< by instruction
  std::vector<uint32_t> numbers;
  uint32_t numRegisters = 0;
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_REGISTERS_H
