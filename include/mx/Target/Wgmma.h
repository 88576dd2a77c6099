//===- Wgmma.h - what wgmma.mma_async can multiply --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Shapes and types of dense wgmma instructions with floating-point operands
// that both lie in shared memory, K-major, and with accumulators in f32.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shape" and the table
// of types of wgmma.mma_async.
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_WGMMA_H
#define MX_TARGET_WGMMA_H

#include "mx/Target/MmaShapes.h"

namespace mx::target {

/// Rows of A that one instruction multiplies.
inline constexpr unsigned kWgmmaM = 64;
/// N runs from the first to the second in such steps.
inline constexpr unsigned kWgmmaNMin = 8;
inline constexpr unsigned kWgmmaNMax = 256;
inline constexpr unsigned kWgmmaNStep = 8;

/// One row of the table of types: A and B are any two of `operands`.
struct WgmmaTypeRule {
  uint16_t operands; ///< bit mask over MmaType
  unsigned k;        ///< 32 bytes of them
};

/// The row that multiplies A by B, or null.
const WgmmaTypeRule *lookupWgmma(MmaType a, MmaType b);

/// Empty if there is an instruction of `m` x `n` x `k` for A and B, else the
/// rule that it breaks.
std::string checkWgmma(unsigned m, unsigned n, unsigned k, MmaType a,
                       MmaType b);

} // namespace mx::target

#endif // MX_TARGET_WGMMA_H
