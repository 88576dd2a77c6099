//===- Wgmma.h - Shapes and types of wgmma ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense wgmma instructions with K-major floating-point operands in shared
// memory and f32 accumulators. Source: PTX ISA, "Asynchronous Warpgroup Level
// Matrix Shape" and the table of types of wgmma.mma_async.
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_WGMMA_H
#define MX_TARGET_WGMMA_H

#include "mx/Target/MmaShapes.h"

namespace mx::target {

/// Rows of A per instruction.
inline constexpr unsigned kWgmmaM = 64;
/// Range and step of N.
inline constexpr unsigned kWgmmaNMin = 8;
inline constexpr unsigned kWgmmaNMax = 256;
inline constexpr unsigned kWgmmaNStep = 8;

/// Row of the type table. A and B may each be any of `operands`.
struct WgmmaTypeRule {
  uint16_t operands; ///< bit mask over MmaType
  unsigned k;        ///< 32 bytes of elements
};

/// Returns the row with the types of A and B, or null.
const WgmmaTypeRule *lookupWgmma(MmaType a, MmaType b);

/// Returns the violated rule, or an empty string if an `m` x `n` x `k`
/// instruction exists for A and B.
std::string checkWgmma(unsigned m, unsigned n, unsigned k, MmaType a,
                       MmaType b);

} // namespace mx::target

#endif // MX_TARGET_WGMMA_H
