//===- MemoryAccess.h - from addresses to bytes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by loads, stores, atomics and bulk copies.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MEMORYACCESS_H
#define MXSIM_LIB_EXEC_MEMORYACCESS_H

#include "../checks/Order.h"
#include "../machine/Lanes.h"

namespace mx::sim {

/// The state space that `address` of `space` lies in. The address becomes the
/// one in that space; parameters of functions are in local memory.
ptx::Space findSpace(ptx::Space space, uint64_t &address);

/// Host pointer to `bytes` (a power of two, the alignment too) at `address` of
/// `space`. Null after a finding that ends the launch. A read of shared memory
/// that has not been written is reported, or adds the lane to `unwritten`.
uint8_t *resolveAddress(Warp &w, const Instr *i, ptx::Space space,
                        uint64_t address, uint64_t bytes, unsigned lane,
                        bool isWrite, uint32_t *unwritten = nullptr);

/// PTX ISA, "Memory consistency model": strong accesses do not race with each
/// other, and synchronizing ones acquire or release as well.
enum class Strength : uint8_t { Weak, Relaxed, Synchronizing };

/// Takes the modifiers of order, scope and caches.
struct AccessOrder {
  Strength strength = Strength::Weak;
  MemoryScope scope = MemoryScope::Device;
};
AccessOrder takeOrder(Decoder &d, bool isLoad);

/// InstructionSet::touchOf for ldmatrix and stmatrix.
const Instr *touchMatrices(Warp &w, const Instr *i, uint32_t mask);

/// Tells the order of an access of each lane that was found legal.
void followLanes(Warp &w, const Instr *i, ptx::Space space, Slot base,
                 bool is64, int64_t offset, uint64_t bytes, uint32_t mask,
                 Touch touch, AccessOrder order);

/// Where time is modelled, tells how long an access of each lane takes.
void timeLanes(Warp &w, ptx::Space space, Slot base, bool is64, int64_t offset,
               uint64_t bytes, uint32_t mask, bool isWrite);

/// The same for one weak access.
void followOne(Warp &w, const Instr *i, ptx::Space space, uint64_t address,
               uint64_t bytes, uint32_t lanes, Touch touch);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MEMORYACCESS_H
