//===- Swizzle.h - Shared-memory XOR swizzles -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address permutations of shared memory. TMA applies them, and tcgen05.mma and
// wgmma undo them as their matrix descriptors specify. Each permutation XORs
// bits of the absolute shared-memory address and is therefore its own inverse.
// Source: PTX ISA, "Tensors: Swizzling Modes" and "Shared memory matrix
// layouts: canonical layouts".
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_SWIZZLE_H
#define MX_SUPPORT_SWIZZLE_H

#include "mx/Support/EnumTable.h"
#include <array>
#include <cstdint>

namespace mx {

/// Values match the driver's CUtensorMapSwizzle.
enum class Swizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32 = 4,
  B128Atom32Flip8 = 5,
  B128Atom64 = 6
};

inline constexpr unsigned kNumSwizzles = 7;

struct SwizzleInfo {
  Swizzle swizzle;
  const char *name;   ///< "128b_atom32"
  uint32_t span;      ///< bytes of a line (row pitch); 0 without swizzle
  uint32_t atom;      ///< bytes that move as a unit
  uint32_t mask;      ///< bits of the line number that are used
  uint32_t alignment; ///< period of the pattern, the alignment of a buffer
};

/// One row per Swizzle.
inline constexpr std::array<SwizzleInfo, kNumSwizzles> kSwizzles = {{
    {Swizzle::None, "none", 0, 16, 0, 16},
    {Swizzle::B32, "32b", 32, 16, 1, 256},
    {Swizzle::B64, "64b", 64, 16, 3, 512},
    {Swizzle::B128, "128b", 128, 16, 7, 1024},
    {Swizzle::B128Atom32, "128b_atom32", 128, 32, 3, 512},
    {Swizzle::B128Atom32Flip8, "128b_atom32_flip8", 128, 32, 3, 512},
    {Swizzle::B128Atom64, "128b_atom64", 128, 64, 1, 256},
}};
static_assert(isEnumTable<&SwizzleInfo::swizzle>(kSwizzles));

constexpr const SwizzleInfo &getInfo(Swizzle swizzle) {
  return kSwizzles[static_cast<unsigned>(swizzle)];
}

/// Returns the swizzled address of the unswizzled absolute shared-memory
/// `address`. `baseOffset`, a field of the matrix descriptor, is subtracted
/// from the line number. TMA uses no such offset.
constexpr uint32_t swizzleAddress(Swizzle swizzle, uint32_t address,
                                  uint32_t baseOffset = 0) {
  const SwizzleInfo &info = getInfo(swizzle);
  uint32_t line = (address >> 7) - baseOffset;
  uint32_t result = address ^ ((line & info.mask) * info.atom);
  if (swizzle == Swizzle::B128Atom32Flip8)
    result ^= (line & 1) << 3;
  return result;
}

} // namespace mx

#endif // MX_SUPPORT_SWIZZLE_H
