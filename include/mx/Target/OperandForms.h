//===- OperandForms.h - how operands reach the tensor core ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One table of the block-scaled MMAs: which element types each kind of
// tcgen05.mma multiplies, how their rows lie in global memory, how the copy
// engine spreads them over shared memory, and what that asks of a matrix.
//
// Sources: PTX ISA, "tcgen05.mma" (kinds, packing of elements narrower than a
// byte), "cp.async.bulk.tensor" (b4x16, b4x16_p64, b6x16_p32); CUDA driver API,
// cuTensorMapEncodeTiled (alignment of addresses, strides and dimensions).
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_OPERANDFORMS_H
#define MX_TARGET_OPERANDFORMS_H

#include "mx/Target/MmaShapes.h"

namespace mx::target {

/// One operand type of one kind.
struct OperandForm {
  MmaKind kind;
  MmaType type;
  /// Shared memory holds 16 elements in 16 bytes, whatever their width.
  bool padded;
  /// Memory has a byte for each element: a kernel of its own packs the rows
  /// for the tensor map before.
  bool repacked;
  /// Rows in global memory have a multiple of this many elements.
  unsigned rowMultiple;
  /// Bytes; the first row begins at a multiple of it.
  unsigned alignment;
};

Table<OperandForm> getOperandForms();
/// The form of a type in a kind that multiplies it.
const OperandForm &getOperandForm(MmaKind kind, MmaType type);

/// How operands reach registers, where threads dequantize them or give them to
/// the tensor core: elements of 6 bits have a byte each, those of 4 are
/// loaded as bytes of two.
const OperandForm &getDequantizedForm(MmaType type);

/// Elements of the reduction that a tile has where operands are dequantized: a
/// row of them as bf16 is as long as the widest swizzle.
inline constexpr unsigned kDequantizedTileK = 64;

/// An instruction that multiplies two tiles, and what it takes.
struct MmaInstruction {
  /// What the PTX ISA calls it; null for the kind of the MMA, which
  /// elsewhere only names the formats.
  const char *name;
  /// Whether it takes elements and their scales as they are. Others take bf16.
  bool takesScales;
  /// Elements of the reduction that one instruction multiplies (0: as many as
  /// its kind says), and of which all or none are multiplied.
  unsigned k, wholeK;
  /// Rows of A that one instruction multiplies in one CTA.
  unsigned rows;
  /// Whether threads load elements to registers, so that shared memory holds
  /// them as they do where they are dequantized.
  bool readsRegisters = false;
};

/// tcgen05.mma with block scales, and of bf16; wgmma of bf16; mma.sync with
/// block scales, and of bf16.
extern const MmaInstruction kTcgen05BlockScaled, kTcgen05F16, kWgmmaBF16,
    kMmaSyncBlockScaled, kMmaSyncBF16;

/// An MMA of two operand types with scales. Where operands are dequantized,
/// `a` may be bf16 without; where both are, blocks and scales say nothing.
struct MmaForm {
  const MmaInstruction *instruction = &kTcgen05BlockScaled;
  MmaKind kind;
  const OperandForm *a, *b;
  unsigned blockSize;
  /// The reduction is a multiple of this many elements: those of an instruction
  /// and of the rows of both operands.
  unsigned reductionMultiple;

  /// What multiplies, as the PTX ISA calls it: a kind or an instruction.
  const char *getInstruction() const;
  /// The same in messages, where a kind is called so.
  std::string describeInstruction() const;
  /// Elements of the reduction that one instruction multiplies.
  unsigned getK() const;
};

/// The MMA of such operands, of the kind with the highest rate, by an
/// instruction; none where no kind has such blocks and scales. Without a format
/// of scales operands must be dequantized.
std::optional<MmaForm> lookupMma(const MmaInstruction &instruction, MmaType a,
                                 MmaType b, unsigned blockSize,
                                 std::optional<FloatFormat> format);

/// The MMA of two operands of bf16 without scales.
MmaForm getBF16Mma(const MmaInstruction &instruction);

} // namespace mx::target

#endif // MX_TARGET_OPERANDFORMS_H
