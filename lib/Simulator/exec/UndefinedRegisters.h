//===- UndefinedRegisters.h - what was loaded from nowhere ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels copy more than was written: a padded tile is transposed in place, and
// nobody looks at the padding. So a load of shared memory that nobody has
// written is no finding yet. The registers are remembered with the lanes that
// got nothing; moves, shuffles and stores to shared memory carry that on (such
// a store leaves its bytes unwritten); any other use is reported, at the load.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H
#define MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H

#include "../machine/Program.h"

#include <unordered_map>

namespace mx::sim {

class UndefinedRegisters {
public:
  struct Load {
    const Instr *instr = nullptr;
    /// Shared address and bytes of one of the lanes.
    uint64_t address = 0;
    uint32_t bytes = 0;
  };
  void mark(Warp &w, Slot slot, uint32_t lanes, const Load &load);
  /// Lanes whose value is undefined.
  uint32_t lanes(Slot slot) const;
  /// Before an instruction: carries undefined values on, or reports.
  void check(Warp &w, const Instr *i, uint32_t mask);

private:
  struct Entry {
    uint32_t lanes;
    Load load;
  };
  std::unordered_map<Slot, Entry> entries;

  void set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask, const Load &load);
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H
