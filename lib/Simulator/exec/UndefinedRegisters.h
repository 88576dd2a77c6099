//===- UndefinedRegisters.h - values of unwritten memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels load and compute more than they use: a padded tile is transposed in
// place, a scan runs over all lanes of a warp and a few of its results are
// stored. So a load of shared memory that has not been written is no finding
// yet. As valgrind's memcheck does, the simulator follows the value: registers
// and predicates carry the lanes in which they are undefined, instructions pass
// that on to their results, and a store to shared memory leaves its bytes
// unwritten. What a value decides is reported, at the load: an address, a
// branch, an operand of a barrier, an atomic operation, a copy or an MMA, and a
// store to other memory.
//
// Definedness is that of a whole register. Warps without an undefined register
// pay nothing: Warp::pendingCount counts those of a warp.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H
#define MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H

#include "../machine/Program.h"

#include <unordered_map>

namespace mx::sim {

DataFlow dataFlowOf(const ptx::Instruction &i);

class UndefinedRegisters {
public:
  struct Load {
    const Instr *instr = nullptr;
    /// Shared address and bytes of one of the lanes.
    uint64_t address = 0;
    uint32_t bytes = 0;
  };
  /// `load` has filled `slot` with undefined values in `lanes`.
  void mark(Warp &w, Slot slot, uint32_t lanes, const Load &load);
  /// Lanes whose value is undefined.
  uint32_t lanes(Slot slot) const;
  /// An instruction has moved values of `from` to the lanes `mask` of `to`,
  /// undefined ones to `lanes`.
  void carry(Warp &w, Slot from, Slot to, uint32_t lanes, uint32_t mask);
  /// Reports that `i` uses the value of `slot`.
  void report(Warp &w, const Instr *i, Slot slot, uint32_t mask);
  /// Before an instruction of the lanes `group`, of which the guard leaves
  /// `executing`: carries undefined values on, or reports. Stored and shuffled
  /// values are left to the handler.
  void check(Warp &w, const Instr *i, uint32_t group, uint32_t executing);

private:
  struct Entry {
    uint32_t lanes;
    Load load;
  };
  std::unordered_map<Slot, Entry> entries;

  void set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask, const Load &load);
  void reportLoad(Warp &w, const Instr *i, const Load &load, uint32_t lanes);
  uint32_t settled(Warp &w, const Instr *i, const InstrInfo &info) const;
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_EXEC_UNDEFINEDREGISTERS_H
