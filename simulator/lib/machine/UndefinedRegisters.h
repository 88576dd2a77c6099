//===- UndefinedRegisters.h - values of unwritten memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels load and compute more than they use: a padded tile is transposed in
// place, a scan runs over all lanes of a warp and a few of its results are
// stored, a loop loads one tile more than it multiplies. So a load of shared or
// tensor memory that has not been written is no finding yet. As valgrind's
// memcheck does, the simulator follows the value: registers and predicates
// carry the lanes in which they are undefined, instructions pass that on to
// their results, a store to shared memory leaves its bytes unwritten, and bytes
// of local memory, which hold arguments too, carry it as registers do. What a
// value decides is reported, at the load: an address, a branch, an operand of a
// barrier, an atomic operation, a copy or an MMA, and a store to other memory.
//
// Definedness is that of a whole register. Warps without an undefined register
// pay nothing: Warp::pendingCount counts those of a warp.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H
#define MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H

#include "Program.h"

#include <unordered_map>

namespace mx::sim {

class UndefinedRegisters {
public:
  struct Load {
    const Instr *instr = nullptr;
    /// Shared address and bytes of one of the lanes; of tensor memory lane <<
    /// 32 | column.
    uint64_t address = 0;
    uint32_t bytes = 0;
    bool isTensor = false;
  };
  /// `load` has filled `slot` with undefined values in `lanes`.
  void mark(Warp &w, Slot slot, uint32_t lanes, const Load &load);
  /// Lanes whose value is undefined.
  uint32_t lanes(Slot slot) const;
  /// Whether the value of `slot` came from tensor memory. Shared memory does
  /// not carry it on, since copies from there do not ask what has been written.
  bool isOfTensor(Slot slot) const {
    auto it = entries.find(slot);
    return it != entries.end() && it->second.load.isTensor;
  }
  /// An instruction has moved values of `from` to the lanes `mask` of `to`,
  /// undefined ones to `lanes`.
  void carry(Warp &w, Slot from, Slot to, uint32_t lanes, uint32_t mask);
  /// Reports that `i` uses the value of `slot`.
  void report(Warp &w, const Instr *i, Slot slot, uint32_t mask);
  /// Before an instruction of the lanes `group`, of which the guard leaves
  /// `executing`: carries undefined values on, or reports. Values that go to
  /// memory or to other lanes are left to the handler.
  void check(Warp &w, const Instr *i, uint32_t group, uint32_t executing);

  /// Local memory of a lane: `slot` has been stored or loaded, bytes have been
  /// copied.
  void storeLocal(Warp &w, Slot slot, unsigned lane, uint64_t offset,
                  uint64_t bytes);
  void loadLocal(Warp &w, Slot slot, unsigned lane, uint64_t offset,
                 uint64_t bytes);
  void copyLocal(Warp &w, unsigned lane, uint64_t from, uint64_t to,
                 uint64_t bytes);
  /// Bytes that now have a value.
  void defineLocal(Warp &w, unsigned lane, uint64_t offset, uint64_t bytes);
  /// Reports that `i` uses bytes, where one is undefined.
  void useLocal(Warp &w, const Instr *i, unsigned lane, uint64_t offset,
                uint64_t bytes);

private:
  struct Entry {
    uint32_t lanes;
    Load load;
  };
  std::unordered_map<Slot, Entry> entries;
  /// Undefined bytes of local memory, by lane << 32 | offset.
  std::unordered_map<uint64_t, Load> local;

  const Load *findLocal(unsigned lane, uint64_t offset, uint64_t bytes) const;
  void set(Warp &w, Slot slot, uint32_t lanes, uint32_t mask, const Load &load);
  void reportLoad(Warp &w, const Instr *i, const Load &load, uint32_t lanes);
  /// DataFlow::Moves; `guard` is the load of the guard.
  void checkElements(Warp &w, const Instr *i, uint32_t guarded,
                     uint32_t executing, const Load &guard);
  uint32_t settled(Warp &w, const Instr *i, const InstrInfo &info) const;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_UNDEFINEDREGISTERS_H
