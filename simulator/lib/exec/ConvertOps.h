//===- ConvertOps.h - Conversions shared by the parts of cvt ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convert.cpp converts single values, and ConvertNarrow.cpp two or four values
// of narrow formats.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_CONVERTOPS_H
#define MXSIM_LIB_EXEC_CONVERTOPS_H

#include "FloatOps.h"

namespace mx::sim {

enum class Num : uint8_t {
  U8,
  S8,
  U16,
  S16,
  U32,
  S32,
  U64,
  S64,
  F16,
  BF16,
  F32,
  F64,
  TF32
};
enum Rounding : uint8_t { RN, RZ, RM, RP, RNA };
struct Mode {
  Num from, to;
  Rounding rounding = RN;
  bool ftz = false, sat = false, relu = false, satfinite = false;
  bool integral = false;
  bool from8 = false, to8 = false; ///< 8-byte lanes
  uint32_t pack() const {
    return uint32_t(from) | uint32_t(to) << 4 | uint32_t(rounding) << 8 |
           ftz << 12 | sat << 13 | relu << 14 | satfinite << 15 |
           integral << 16 | from8 << 17 | to8 << 18;
  }
  explicit Mode(uint32_t v)
      : from(Num(v & 15)), to(Num((v >> 4) & 15)),
        rounding(Rounding((v >> 8) & 15)), ftz(v >> 12 & 1), sat(v >> 13 & 1),
        relu(v >> 14 & 1), satfinite(v >> 15 & 1), integral(v >> 16 & 1),
        from8(v >> 17 & 1), to8(v >> 18 & 1) {}
  Mode() = default;
};

/// Converts a value, given as the 64 bits of its register.
uint64_t convertOne(const Mode &m, uint64_t in);
/// Decodes cvt with a type that ends in x2 or x4, and cvt.pack.
void decodePackedConversion(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_CONVERTOPS_H
