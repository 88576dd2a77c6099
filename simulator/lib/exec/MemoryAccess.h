//===- MemoryAccess.h - Resolution of addresses to bytes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares functions for loads, stores, atomics and bulk copies.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MEMORYACCESS_H
#define MXSIM_LIB_EXEC_MEMORYACCESS_H

#include "../checks/Order.h"
#include "../machine/Lanes.h"

namespace mx::sim {

/// Returns the state space of a generic address, and replaces the address by
/// the address in that space. Parameters of functions are in local memory.
ptx::Space findSpace(ptx::Space space, uint64_t &address);

/// Returns the host pointer to `bytes` (a power of two, also the alignment) at
/// `address` of `space`, or null after a finding that ends the launch. A read
/// of unwritten shared memory is reported, or adds the lane to `unwritten`.
uint8_t *resolveAddress(Warp &w, const Instr *i, ptx::Space space,
                        uint64_t address, uint64_t bytes, unsigned lane,
                        bool isWrite, uint32_t *unwritten = nullptr);

/// Returns true for the pattern of unwritten global memory. Values of fewer
/// than 4 bytes may equal the pattern by chance.
constexpr uint64_t kUnwrittenPattern =
    DeviceMemory::kPoison * 0x0001000100010001ull;
inline bool isUnwritten(uint64_t value, unsigned bytes) {
  return bytes == 8 ? value == kUnwrittenPattern
                    : bytes == 4 && value == uint32_t(kUnwrittenPattern);
}

/// Reports a use of .shared::cta with the address of another CTA. Returns false
/// after a finding. `isOwnOnly` marks a .shared::cta operand of an instruction
/// that also names .shared::cluster.
bool checkOwnCta(Warp &w, const Instr *i, const char *what, uint64_t address,
                 uint64_t bytes, unsigned lane, bool isOwnOnly = false);

/// Strength of an access (PTX ISA, "Memory consistency model"). Strong accesses
/// do not race with each other; synchronizing accesses also acquire or release.
enum class Strength : uint8_t { Weak, Relaxed, Synchronizing };

/// Strength and scope of an access.
struct AccessOrder {
  Strength strength = Strength::Weak;
  MemoryScope scope = MemoryScope::Device;
};
AccessOrder takeOrder(Decoder &d, bool isLoad);

/// Implements InstructionSet::touchOf for ldmatrix and stmatrix.
const Instr *touchMatrices(Warp &w, const Instr *i, uint32_t mask);

/// Addresses of the lanes of a warp: a row of adjacent elements, a row in
/// another order, the same address, or any.
enum class Pattern : uint8_t { Other, Row, Permuted, Same };

/// Resolved addresses of an access.
struct LaneAddresses {
  Pattern pattern = Pattern::Other;
  /// Host address of lane 0, and bytes from lane to lane, for a row and for the
  /// same address. Null if `at` contains the addresses.
  uint8_t *first = nullptr;
  uint32_t stride = 0;
  uint8_t *at[32]; ///< host address of each lane
  // For Pattern::Permuted, the address of the row less that of lane 0, and the
  // lane of each word.
  int64_t row = 0;
  Lane lanes[32 * 32 / 4];

  /// Returns the host address of each lane, which the caller may change.
  uint8_t **each() {
    for (unsigned lane = 0; first && lane < 32; ++lane)
      at[lane] = first + lane * stride;
    first = nullptr;
    return at;
  }
};

/// Reports an access of each lane to the order check, lane by lane unless
/// `isQuiet` is set. The addresses must be valid.
void followLanes(Warp &w, const Instr *i, ptx::Space space, Slot base,
                 bool is64, int64_t offset, uint64_t bytes, uint32_t mask,
                 Touch touch, AccessOrder order, bool isQuiet);

/// Reports an access of each lane to the time model, if the launch is timed.
void timeLanes(Warp &w, ptx::Space space, Slot base, bool is64, int64_t offset,
               uint64_t bytes, uint32_t mask, bool isWrite);

/// Reports a single weak access to the order check.
void followOne(Warp &w, const Instr *i, ptx::Space space, uint64_t address,
               uint64_t bytes, uint32_t lanes, Touch touch);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MEMORYACCESS_H
