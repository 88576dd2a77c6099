//===- OperandForms.h - Operand layouts of block-scaled MMAs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of the element types of each tcgen05.mma kind, their rows in global
// memory, their expansion by TMA to shared memory, and the resulting
// constraints on matrices. Sources: PTX ISA, "tcgen05.mma" (kinds, packing of
// elements narrower than a byte), "cp.async.bulk.tensor" (b4x16, b4x16_p64,
// b6x16_p32); CUDA driver API, cuTensorMapEncodeTiled (alignment of addresses,
// strides and dimensions).
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_OPERANDFORMS_H
#define MX_TARGET_OPERANDFORMS_H

#include "mx/Target/MmaShapes.h"

namespace mx::target {

/// Operand type of a kind.
struct OperandForm {
  MmaKind kind;
  MmaType type;
  /// Shared memory stores 16 elements in 16 bytes, regardless of their width.
  bool padded;
  /// A separate kernel packs rows of one-byte elements for the tensor map.
  bool repacked;
  /// Required divisor of the number of elements per row in global memory.
  unsigned rowMultiple;
  /// Alignment of the first row in bytes.
  unsigned alignment;
};

Table<OperandForm> getOperandForms();
/// Returns the form of a type that the kind supports.
const OperandForm &getOperandForm(MmaKind kind, MmaType type);

/// Returns the form of operands that threads load to registers, for
/// dequantization or for mma.sync. Each 6-bit element occupies a byte, and
/// 4-bit elements are loaded in pairs, as bytes.
const OperandForm &getDequantizedForm(MmaType type);

/// K of a tile with dequantized operands. A row with this number of bf16
/// elements is as long as the widest swizzle.
inline constexpr unsigned kDequantizedTileK = 64;

/// Instruction that multiplies two tiles.
struct MmaInstruction {
  /// Name in the PTX ISA. If null, messages use the kind of the MMA; otherwise
  /// the kind only names formats.
  const char *name;
  /// True if the instruction reads quantized elements and scales, not bf16.
  bool takesScales;
  /// K of an instruction (0: depends on the kind), and the granularity of K.
  unsigned k, wholeK;
  /// Rows of A per instruction and CTA.
  unsigned rows;
  /// Threads load elements to registers, so shared memory uses the layout of
  /// dequantized operands.
  bool readsRegisters = false;
  /// The instruction adds in reduced precision, and threads promote its sums to
  /// f32.
  bool promotes = false;
};

/// tcgen05.mma with block scales and for bf16, wgmma for bf16 and for 8 bits,
/// and mma.sync with block scales and for bf16.
extern const MmaInstruction kTcgen05BlockScaled, kTcgen05F16, kWgmmaBF16,
    kWgmmaFP8, kMmaSyncBlockScaled, kMmaSyncBF16;

/// K of a tile of 8-bit operands: a row spans the widest swizzle.
inline constexpr unsigned kFoldedTileK = 128;

/// Scaled MMA of two operand types. If operands are dequantized, `a` may be
/// bf16 without scales. If both are bf16, the block size and scales are unused.
struct MmaForm {
  const MmaInstruction *instruction = &kTcgen05BlockScaled;
  MmaKind kind;
  const OperandForm *a, *b;
  unsigned blockSize;
  /// Required divisor of K, from the instruction and the rows of both operands.
  unsigned reductionMultiple;

  /// Returns the PTX ISA name of the kind or instruction.
  const char *getInstruction() const;
  /// Returns the name for messages: "wgmma.mma_async" or "kind::mxf4".
  std::string describeInstruction() const;
  /// Returns the K of an instruction.
  unsigned getK() const;
};

/// Returns the fastest MMA of the operands, or none if no kind supports the
/// block size and scales. Without a scale format, operands must be dequantized.
std::optional<MmaForm> lookupMma(const MmaInstruction &instruction, MmaType a,
                                 MmaType b, unsigned blockSize,
                                 std::optional<FloatFormat> format);

/// Returns the MMA of two 8-bit operands whose scales threads apply to sums of
/// blocks of at least kFoldedTileK elements.
MmaForm getFP8Mma(MmaType a, MmaType b, unsigned blockSize);

/// Returns the MMA of two bf16 operands without scales.
MmaForm getBF16Mma(const MmaInstruction &instruction);

} // namespace mx::target

#endif // MX_TARGET_OPERANDFORMS_H
