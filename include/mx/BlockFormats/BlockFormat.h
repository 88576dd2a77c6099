//===- BlockFormat.h - Block-scaled formats ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block format combines a scale type, a block shape, legal element types and
// a scale codec. Verifiers, passes and emitters query these properties and so
// support all formats. BlockFormatInterface adds formats of other dialects.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 5; PTX ISA, "Block
// Scaling for tcgen05.mma" (scale types and scale vectors).
//===----------------------------------------------------------------------===//

#ifndef MX_BLOCKFORMATS_BLOCKFORMAT_H
#define MX_BLOCKFORMATS_BLOCKFORMAT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectInterface.h"
#include "mx/Support/FloatFormats.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mx {

/// Encoded scale of a block, and the factor that quantizes its elements.
struct EncodedScale {
  mlir::Value bits;   ///< Integer as wide as the scale type.
  mlir::Value factor; ///< f32. x * factor is rounded to f32, then quantized.
};

/// Shape of the blocks that share a scale, as operations state it. Converts to
/// the number of columns. A number of columns does not convert to a shape,
/// because the rows distinguish formats.
struct BlockShape {
  /// Elements along the blocked dimension, or BlockFormat::kWhole.
  int64_t columns;
  /// Rows, or 0 for the first format with these columns.
  int64_t rows;

  explicit BlockShape(int64_t columns, int64_t rows = 0)
      : columns(columns), rows(rows) {}
  operator int64_t() const { return columns; }

  /// Conversions to and from attributes: i64, or an array of rows and columns.
  static bool isValid(mlir::Attribute attribute);
  static BlockShape get(mlir::Attribute attribute);
  mlir::Attribute getAttr(mlir::MLIRContext *context) const;

  friend bool operator==(BlockShape a, BlockShape b) {
    return a.columns == b.columns && a.rows == b.rows;
  }
  friend bool operator!=(BlockShape a, BlockShape b) { return !(a == b); }
};

/// Emits conversions of scales with arith and math, for kernels and host code.
class ScaleCodec {
public:
  virtual ~ScaleCodec() = default;

  /// Encodes the scale of a block of elements of type `element`. The largest
  /// magnitude `amax` is an f32 that may be infinite or NaN.
  virtual EncodedScale encode(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Type element, mlir::Value amax) const = 0;
  /// Decodes the bits of a scale to f32.
  virtual mlir::Value decode(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value bits) const = 0;
};

/// A block-scaled format. The scale type and the block shape identify it; a
/// number of columns stands for the first format with blocks of this size.
struct BlockFormat {
  /// Block size that stands for whole rows. Exceeds every dimension.
  static constexpr int64_t kWhole = int64_t{1} << 40;

  mlir::Type (*getScaleType)(mlir::MLIRContext *context);
  /// Elements along the blocked dimension that share a scale, or kWhole.
  int64_t blockSize;
  /// Rows that share a scale. If more than 1, the scales of a matrix are
  /// compact: each block has a scale, and the last blocks may contain fewer
  /// rows. If this and the block size are kWhole, a matrix has a single scale.
  int64_t blockRows = 1;
  /// Formats of legal elements.
  llvm::SmallVector<FloatFormat, 8> elements = {};
  /// True if MXINT8 elements are legal.
  bool takesInt8 = false;
  /// Scales are relative to a per-tensor factor and rounded to nearest.
  bool hasTensorFactor = false;
  /// True if the layout sf_128x4, which requires one-byte scales, is legal.
  bool hasTiles = false;
  /// True if the layout mn_major is legal.
  bool hasMNMajor = false;
  /// True if blocks share the largest scale of their MX blocks.
  bool isFolded = false;
  /// True if scales are f32, exact unless rounded to powers of two.
  bool isExact = false;
  /// Scale format of matrix instructions; without one, matmuls dequantize.
  std::optional<FloatFormat> scale = std::nullopt;
  /// Codec of a dialect's format. Null for the built-in formats, because each
  /// path implements specialized emitters.
  const ScaleCodec *codec = nullptr;
  /// Codec for scales rounded up to powers of two, or null for `codec`.
  const ScaleCodec *ceilCodec = nullptr;

  /// Returns the codec for power-of-two scales (`isCeil`) or all others.
  const ScaleCodec *getCodec(bool isCeil) const {
    return isCeil && ceilCodec ? ceilCodec : codec;
  }
  /// Returns true if the tensor core may add the products of a block.
  bool isPromoted() const { return isFolded || isExact; }
  /// Returns true for a legal element type. `withIntegers` admits i8 (MXINT8).
  bool takes(mlir::Type element, bool withIntegers = true) const;
  /// Lists the types that `takes` accepts, for messages: "f4E2M1FN".
  std::string listElements(bool withIntegers = true) const;
  /// Describes a block, for messages: "128 x 128 elements".
  std::string describeBlock() const;
  /// Returns the logical shape of the scales of `elements`.
  llvm::SmallVector<int64_t>
  getScaleShape(llvm::ArrayRef<int64_t> elements) const;
};

/// Block formats of a dialect. A dialect registers it with addInterfaces; the
/// formats outlive the context.
class BlockFormatInterface
    : public mlir::DialectInterface::Base<BlockFormatInterface> {
public:
  BlockFormatInterface(mlir::Dialect *dialect,
                       llvm::ArrayRef<const BlockFormat *> formats)
      : Base(dialect), formats(formats) {}

  llvm::ArrayRef<const BlockFormat *> getFormats() const { return formats; }

private:
  llvm::ArrayRef<const BlockFormat *> formats;
};

/// Returns the built-in formats, without formats of other dialects.
llvm::ArrayRef<BlockFormat> getBlockFormats();

/// Returns the format of a scale type and, if given, a block shape; or null.
const BlockFormat *findBlockFormat(mlir::Type scale,
                                   std::optional<BlockShape> shape = {});
/// Returns the format of a verified scale type.
const BlockFormat &getBlockFormat(mlir::Type scale,
                                  std::optional<BlockShape> shape = {});
/// Returns the number of rows per scale in linear layout, or 1 if unknown.
int64_t getBlockRows(mlir::Type scale, BlockShape shape);
/// Returns the spelling of blocks in operations: "row", "128" or "128x128".
std::string spellBlockSize(BlockShape shape);
/// Returns the divisor of K that kernels require for this block size.
int64_t getKernelMultiple(int64_t blockSize);
/// Returns the first built-in format with this block shape, or null.
const BlockFormat *findBlockFormat(BlockShape shape);

/// Elements and scales of a matmul operand.
struct OperandFormat {
  llvm::StringLiteral name;
  FloatFormat element, scale;

  mlir::Type getElementType(mlir::MLIRContext *context) const;
  const BlockFormat &getBlockFormat() const;
};

llvm::ArrayRef<OperandFormat> getOperandFormats();

/// Number of elements that share a power-of-two scale.
inline constexpr int64_t kPowerOfTwoBlockSize = 32;
const BlockFormat &getPowerOfTwoFormat();
/// Returns true if `type` is the power-of-two scale type, false for null.
bool isPowerOfTwoScale(mlir::Type scale);
/// Returns true if some matrix instruction supports scales of this type.
bool isMatrixScale(mlir::Type scale);
/// Lists the built-in scale types for messages: "f8E8M0FNU, f8E4M3FN or f32".
std::string listScaleTypes();

/// Returns the number format of a floating-point type of at most 16 bits.
/// Returns E4M3 for f8E4M3FN; scales of this type are UE4M3, without sign bit.
std::optional<FloatFormat> getFloatFormat(mlir::Type type);
mlir::Type getFloatType(mlir::MLIRContext *context, FloatFormat format);

} // namespace mx

MLIR_DECLARE_EXPLICIT_TYPE_ID(mx::BlockFormatInterface)

#endif // MX_BLOCKFORMATS_BLOCKFORMAT_H
