//===- UndefinedRegisters.h - Propagation of undefined values ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels may load and compute more than they use, for example if they
// transpose a padded tile in place or load one tile too many. A load of
// unwritten shared or tensor memory is therefore not a finding. Like valgrind's
// memcheck, the simulator propagates undefined values until a use has
// observable effects.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H
#define MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H

#include "Program.h"

#include <unordered_map>

namespace mx::sim {

/// Undefined values of a warp. Registers and predicates record undefined lanes,
/// instructions propagate them to results, stores to shared memory leave bytes
/// unwritten, and local memory, including arguments, behaves like registers.
///
/// An undefined value is reported if an address, a branch, a barrier, an atomic
/// operation, a copy, an MMA or a store to other memory uses the value. Stores
/// of an unchanged value from global memory leave their bytes unwritten. The
/// finding names the load of the value. In each lane, a register is either
/// defined or undefined as a whole. Warps without undefined registers have no
/// overhead because Warp::pendingCount counts such registers.
class UndefinedRegisters {
public:
  struct Load {
    const Instr *instr = nullptr;
    /// Shared or global address and bytes of one of the lanes. Tensor memory is
    /// encoded as lane << 32 | column.
    uint64_t address = 0;
    uint32_t bytes = 0;
    bool isTensor = false, isGlobal = false;
  };
  /// Marks `lanes` of `slot` as undefined because of `load`.
  void mark(Warp &w, Slot slot, uint32_t lanes, const Load &load);
  uint32_t lanes(Slot slot) const;
  /// Returns true if the value of `slot` was loaded from tensor memory. Such
  /// values do not propagate through shared memory, since copies from there
  /// ignore definedness.
  bool isOfTensor(Slot slot) const {
    auto it = entries.find(slot);
    return it != entries.end() && it->second.load.isTensor;
  }
  /// Returns true if the value of `slot` was loaded from global memory. Tiles
  /// may contain padding that is staged, multiplied and dropped, so neither
  /// shared memory nor MMAs propagate such values.
  bool isOfGlobal(Slot slot) const {
    auto it = entries.find(slot);
    return it != entries.end() && it->second.load.isGlobal;
  }
  /// Propagates a move of `from` to the lanes `mask` of `to`. `lanes` are the
  /// undefined lanes of `from`.
  void carry(Warp &w, Slot from, Slot to, uint32_t lanes, uint32_t mask);
  /// Reports a use of `slot` by `i`.
  void report(Warp &w, const Instr *i, Slot slot, uint32_t mask);
  /// Propagates or reports undefined values before an instruction of the lanes
  /// `group`. The guard is true in the lanes `executing`. Handlers propagate
  /// values to memory and to other lanes.
  void check(Warp &w, const Instr *i, uint32_t group, uint32_t executing);

  /// Propagate values through the local memory of a lane by a store of `slot`,
  /// a load of `slot`, and a copy of bytes.
  void storeLocal(Warp &w, Slot slot, unsigned lane, uint64_t offset,
                  uint64_t bytes);
  void loadLocal(Warp &w, Slot slot, unsigned lane, uint64_t offset,
                 uint64_t bytes);
  void copyLocal(Warp &w, unsigned lane, uint64_t from, uint64_t to,
                 uint64_t bytes);
  void defineLocal(Warp &w, unsigned lane, uint64_t offset, uint64_t bytes);
  /// Reports a use of partly undefined bytes by `i`.
  void useLocal(Warp &w, const Instr *i, unsigned lane, uint64_t offset,
                uint64_t bytes);

private:
  struct Entry {
    uint32_t lanes;
    Load load;
  };
  std::unordered_map<Slot, Entry> entries;
  /// Undefined bytes of local memory, keyed by lane << 32 | offset.
  std::unordered_map<uint64_t, Load> local;

  const Load *findLocal(unsigned lane, uint64_t offset, uint64_t bytes) const;
  void set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask, const Load &load);
  void reportLoad(Warp &w, const Instr *i, const Load &load, uint32_t lanes);
  /// Handles DataFlow::Moves; `guard` is the load of an undefined guard.
  void checkElements(Warp &w, const Instr *i, uint32_t guarded,
                     uint32_t executing, const Load &guard);
  uint32_t settled(Warp &w, const Instr *i, const InstrInfo &info) const;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H
