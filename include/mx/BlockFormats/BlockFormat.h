//===- BlockFormat.h - Table of block-scaled formats ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A block format is a row of a table: the type of its scales, the elements that
// share one, and the types that these may have. Verifiers, passes and emitters
// ask the row and do not name formats.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 5; PTX ISA, "Block
// Scaling for tcgen05.mma" (types and vectors of scales).
//
//===----------------------------------------------------------------------===//

#ifndef MX_BLOCKFORMATS_BLOCKFORMAT_H
#define MX_BLOCKFORMATS_BLOCKFORMAT_H

#include "mlir/IR/Types.h"
#include "mx/Support/FloatFormats.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mx {

struct BlockFormat {
  /// Encoding of the scales.
  FloatFormat scale;
  /// Elements along the blocked dimension that share a scale.
  int64_t blockSize;
  /// Whether MXINT8 elements are legal.
  bool takesInt8;
  /// Whether scales are relative to a factor of the whole tensor and rounded
  /// to nearest. Else they are powers of two, chosen by `scale_rounding`.
  bool hasTensorFactor;

  mlir::Type getScaleType(mlir::MLIRContext *context) const;
  /// Whether elements may have the type; MXINT8 is i8.
  bool takes(mlir::Type element) const;
  /// Types of legal elements, for messages: "f4E2M1FN"; of floating-point ones
  /// where `withIntegers` is false.
  std::string listElements(bool withIntegers = true) const;
};

llvm::ArrayRef<BlockFormat> getBlockFormats();

/// The format whose scales have the type, or null.
const BlockFormat *findBlockFormat(mlir::Type scale);
/// The format of a verified type of scales.
const BlockFormat &getBlockFormat(mlir::Type scale);
/// The format with the block size, or null.
const BlockFormat *findBlockFormat(int64_t blockSize);
/// Elements and scales of a matmul's operand.
struct OperandFormat {
  llvm::StringLiteral name;
  FloatFormat element, scale;

  mlir::Type getElementType(mlir::MLIRContext *context) const;
  const BlockFormat &getBlockFormat() const;
};

llvm::ArrayRef<OperandFormat> getOperandFormats();

/// Elements that share a power-of-two scale.
inline constexpr int64_t kPowerOfTwoBlockSize = 32;
/// The format of power-of-two scales.
const BlockFormat &getPowerOfTwoFormat();
/// Whether the type, which may be null, is that of power-of-two scales.
bool isPowerOfTwoScale(mlir::Type scale);
/// Types of scales, for messages: "f8E8M0FNU or f8E4M3FN".
std::string listScaleTypes();

/// The number format of a floating-point type of at most 16 bits. f8E4M3FN is
/// E4M3; scales of that type are UE4M3, whose sign bit is ignored.
std::optional<FloatFormat> getFloatFormat(mlir::Type type);
/// The type of a number format.
mlir::Type getFloatType(mlir::MLIRContext *context, FloatFormat format);

} // namespace mx

#endif // MX_BLOCKFORMATS_BLOCKFORMAT_H
