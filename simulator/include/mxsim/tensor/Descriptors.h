//===- Descriptors.h - Decoders of tcgen05 descriptors ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes the 64-bit shared-memory matrix descriptor and the 32-bit instruction
// descriptors according to the tables of the PTX ISA. Shares no code with the
// compiler's encoder, so that each can expose errors of the other.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_DESCRIPTORS_H
#define MXSIM_TENSOR_DESCRIPTORS_H

#include "mxsim/tensor/Fault.h"

#include <cstdint>
#include <string_view>

namespace mx::sim {

//===----------------------------------------------------------------------===//
// Shared-memory matrix descriptor
//===----------------------------------------------------------------------===//

/// Layout code in bits 61-63.
enum class SmemLayout : uint8_t {
  None = 0,
  B128Base32 = 1,
  B128 = 2,
  B64 = 4,
  B32 = 6,
};

struct SmemDesc {
  uint32_t start = 0;
  uint32_t leadingOffset = 0;
  uint32_t strideOffset = 0;
  unsigned baseOffset = 0;
  SmemLayout layout = SmemLayout::None;

  /// Returns the swizzle span in bytes: 0 (none), 32, 64 or 128.
  unsigned span() const;
  /// Applies the XOR pattern to an absolute shared::cta address.
  uint32_t swizzle(uint32_t address) const;
  /// Returns the address of byte `byteK` of row `row` of a K-major operand.
  uint32_t kMajor(unsigned row, unsigned byteK) const;
  /// Returns the address of element (mn, k) of an MN-major operand.
  uint32_t mnMajor(unsigned mn, unsigned k, unsigned elementBytes) const;
};

Fault decodeSmemDesc(uint64_t bits, SmemDesc &desc);
/// Decodes a wgmma descriptor (PTX ISA, "Matrix Descriptor Format"). The format
/// has no constant bits, and a two-bit swizzle mode at bit 62.
Fault decodeWgmmaDesc(uint64_t bits, SmemDesc &desc);

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

enum class MmaKind { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };
bool parseMmaKind(std::string_view name, MmaKind &kind);
std::string_view name(MmaKind kind);
constexpr bool isBlockScaled(MmaKind kind) { return kind >= MmaKind::MXF8F6F4; }

enum class ElementType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8,
  // Warp-level instructions only.
  U4,
  S4,
  B1,
};
std::string_view name(ElementType type);
enum class AccumulatorType : uint8_t { F16, F32, S32 };
enum class ScaleType : uint8_t { UE4M3, UE8M0 };

/// Scales per row and K step. Only Default is legal for mxf8f6f4 and mxf4.
enum class ScaleVec : uint8_t { Default, X1, X2, X4 };
/// Parses ".scale_vec::1X" (1X, 2X, 4X), ".block16" or ".block32", without the
/// dot. block32 means 1X for mxf8f6f4 and 2X for the kinds with K = 64.
bool parseScaleVec(std::string_view name, MmaKind kind, ScaleVec &vec);

/// Opcode modifiers that the descriptor does not encode: .sp and .ws.
struct MmaVariant {
  bool sparse = false, weightStationary = false;
};

struct InstrDesc {
  /// K counts the elements of B: twice the stored elements of A if A is sparse.
  unsigned m = 0, n = 0, k = 0;
  ElementType a = ElementType::F16, b = ElementType::F16;
  AccumulatorType d = AccumulatorType::F32;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false;
  bool saturate = false;
  ScaleType scale = ScaleType::UE8M0;
  unsigned scaleIdA = 0, scaleIdB = 0;
  /// Scales per row and K step; 0 without block scaling.
  unsigned scaleBlocks = 0;
  /// Sub-column of the metadata of a sparse A.
  unsigned sparsitySelector = 0;
  /// Limit on the column shift of B by .ws: 0, 8, 16 or 32.
  unsigned maxShift = 0;
};

/// Decodes the descriptor and checks reserved bits, element types, shapes at
/// `ctaGroup` 1 or 2, and scale ids for `kind`.
Fault decodeInstrDesc(uint32_t bits, MmaKind kind, unsigned ctaGroup,
                      ScaleVec vec, InstrDesc &desc, MmaVariant variant = {});

} // namespace mx::sim

#endif // MXSIM_TENSOR_DESCRIPTORS_H
