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
  /// Memory stores an element per byte; a separate kernel packs the rows for
  /// the tensor map.
  bool repacked;
  /// Required divisor of the elements of a row in global memory.
  unsigned rowMultiple;
  /// Alignment of the first row in bytes.
  unsigned alignment;
};

Table<OperandForm> getOperandForms();
/// Returns the form of a type that the kind supports.
const OperandForm &getOperandForm(MmaKind kind, MmaType type);

/// Returns the form of operands that threads load to registers, for
/// dequantization or for mma.sync. 6-bit elements use a byte each, 4-bit
/// elements are loaded as bytes of two.
const OperandForm &getDequantizedForm(MmaType type);

/// K of a tile with dequantized operands: a row of bf16 spans the widest
/// swizzle.
inline constexpr unsigned kDequantizedTileK = 64;

/// Instruction that multiplies two tiles.
struct MmaInstruction {
  /// Name in the PTX ISA. If null, messages use the kind of the MMA; otherwise
  /// the kind only names formats.
  const char *name;
  /// Takes elements and scales directly; other instructions take bf16.
  bool takesScales;
  /// K of an instruction (0: depends on the kind), and the granularity of K.
  unsigned k, wholeK;
  /// Rows of A per instruction and CTA.
  unsigned rows;
  /// Threads load elements to registers, so shared memory uses the layout of
  /// dequantized operands.
  bool readsRegisters = false;
};

/// tcgen05.mma with block scales and of bf16, wgmma of bf16, mma.sync with
/// block scales and of bf16.
extern const MmaInstruction kTcgen05BlockScaled, kTcgen05F16, kWgmmaBF16,
    kMmaSyncBlockScaled, kMmaSyncBF16;

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

/// Returns the MMA of the operands with the highest rate, or none if no kind
/// supports the block size and scales. Without a scale format, operands must be
/// dequantized.
std::optional<MmaForm> lookupMma(const MmaInstruction &instruction, MmaType a,
                                 MmaType b, unsigned blockSize,
                                 std::optional<FloatFormat> format);

/// Returns the MMA of two bf16 operands without scales.
MmaForm getBF16Mma(const MmaInstruction &instruction);

} // namespace mx::target

#endif // MX_TARGET_OPERANDFORMS_H
