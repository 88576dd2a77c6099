//===- BlockFormat.h - Table of block-scaled formats ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Table of block formats: scale type, block size, legal element types.
// Verifiers, passes and emitters ask the table and do not name formats.
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
  /// Legality of MXINT8 elements.
  bool takesInt8;
  /// True for scales relative to a factor of the whole tensor, rounded to
  /// nearest; false for powers of two, chosen by `scale_rounding`.
  bool hasTensorFactor;

  mlir::Type getScaleType(mlir::MLIRContext *context) const;
  /// Returns true for a legal element type. i8, which is MXINT8, is legal only
  /// `withIntegers`.
  bool takes(mlir::Type element, bool withIntegers = true) const;
  /// Lists the types that `takes` accepts, for messages: "f4E2M1FN".
  std::string listElements(bool withIntegers = true) const;
};

llvm::ArrayRef<BlockFormat> getBlockFormats();

/// Returns the format of a scale type, or null.
const BlockFormat *findBlockFormat(mlir::Type scale);
/// Returns the format of a verified scale type.
const BlockFormat &getBlockFormat(mlir::Type scale);
/// Returns the format of a block size, or null.
const BlockFormat *findBlockFormat(int64_t blockSize);

/// Elements and scales of a matmul operand.
struct OperandFormat {
  llvm::StringLiteral name;
  FloatFormat element, scale;

  mlir::Type getElementType(mlir::MLIRContext *context) const;
  const BlockFormat &getBlockFormat() const;
};

llvm::ArrayRef<OperandFormat> getOperandFormats();

/// Elements that share a power-of-two scale.
inline constexpr int64_t kPowerOfTwoBlockSize = 32;
/// Returns the format of power-of-two scales.
const BlockFormat &getPowerOfTwoFormat();
/// Returns true for the type of power-of-two scales, false for null.
bool isPowerOfTwoScale(mlir::Type scale);
/// Lists the scale types, for messages: "f8E8M0FNU or f8E4M3FN".
std::string listScaleTypes();

/// Returns the number format of a floating-point type of at most 16 bits.
/// f8E4M3FN gives E4M3; scales of that type are UE4M3, without the sign bit.
std::optional<FloatFormat> getFloatFormat(mlir::Type type);
/// Returns the type of a number format.
mlir::Type getFloatType(mlir::MLIRContext *context, FloatFormat format);

} // namespace mx

#endif // MX_BLOCKFORMATS_BLOCKFORMAT_H
