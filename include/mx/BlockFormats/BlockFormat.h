//===- BlockFormat.h - Block-scaled formats ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Block formats: scale type, block shape, legal element types, codec of scales.
// Verifiers, passes and emitters query a format and do not name it. Dialects
// bring formats of their own by BlockFormatInterface.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 5; PTX ISA, "Block
// Scaling for tcgen05.mma" (types and vectors of scales).
//
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

/// Scale of a block, and the multiplier of its elements.
struct EncodedScale {
  mlir::Value bits;   ///< Integer of the width of the scale type.
  mlir::Value factor; ///< f32. An element is x * factor, rounded to f32 first.
};

/// Emits conversions of scales with arith and math operations, for kernels and
/// host code alike.
class ScaleCodec {
public:
  virtual ~ScaleCodec() = default;

  /// Encodes the scale of a block of `element` with the largest magnitude
  /// `amax`, an f32 that may be infinite or NaN.
  virtual EncodedScale encode(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Type element, mlir::Value amax) const = 0;
  /// Decodes the bits of a scale to f32.
  virtual mlir::Value decode(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value bits) const = 0;
};

/// A block-scaled format. The scale type and the block shape identify it.
struct BlockFormat {
  /// Block size of whole rows of any length: no dimension is longer.
  static constexpr int64_t kWhole = int64_t{1} << 40;

  mlir::Type (*getScaleType)(mlir::MLIRContext *context);
  /// Elements along the blocked dimension that share a scale, or kWhole.
  int64_t blockSize;
  /// Rows that share a scale. With more than 1 a matrix has compact scales:
  /// one for each square, fewer rows in the last ones. kWhole with a block size
  /// of kWhole means one scale for each matrix.
  int64_t blockRows = 1;
  /// Formats of legal elements.
  llvm::SmallVector<FloatFormat, 8> elements = {};
  /// Legality of MXINT8 elements.
  bool takesInt8 = false;
  /// True for scales relative to a factor of the whole tensor, rounded to
  /// nearest.
  bool hasTensorFactor = false;
  /// Legality of the layout sf_128x4, whose tiles hold bytes.
  bool hasTiles = false;
  /// Scales of matrix instructions. Without them a matmul dequantizes.
  std::optional<FloatFormat> scale = std::nullopt;
  /// Null for the formats of the table: each path specializes their emitters.
  const ScaleCodec *codec = nullptr;

  /// Returns true for a legal element type. i8, which is MXINT8, is legal only
  /// `withIntegers`.
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

/// Returns the formats of the table, without those of dialects.
llvm::ArrayRef<BlockFormat> getBlockFormats();

/// Returns the format of a scale type and, if given, a block size; or null.
const BlockFormat *findBlockFormat(mlir::Type scale,
                                   std::optional<int64_t> blockSize = {});
/// Returns the format of a verified scale type.
const BlockFormat &getBlockFormat(mlir::Type scale,
                                  std::optional<int64_t> blockSize = {});
/// Returns the rows that share a scale in linear layout, 1 for no format.
int64_t getBlockRows(mlir::Type scale, int64_t blockSize);
/// Returns a block size as operations spell it: "row", or the number.
std::string spellBlockSize(int64_t blockSize);
/// Returns the divisor of K that kernels require for blocks of a size.
int64_t getKernelMultiple(int64_t blockSize);
/// Returns the format of the table with a block size, or null.
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
/// Returns true for scales that some matrix instruction takes.
bool isMatrixScale(mlir::Type scale);
/// Lists the scale types of the table, for messages: "f8E8M0FNU or f8E4M3FN".
std::string listScaleTypes();

/// Returns the number format of a floating-point type of at most 16 bits.
/// f8E4M3FN gives E4M3; scales of that type are UE4M3, without the sign bit.
std::optional<FloatFormat> getFloatFormat(mlir::Type type);
/// Returns the type of a number format.
mlir::Type getFloatType(mlir::MLIRContext *context, FloatFormat format);

} // namespace mx

MLIR_DECLARE_EXPLICIT_TYPE_ID(mx::BlockFormatInterface)

#endif // MX_BLOCKFORMATS_BLOCKFORMAT_H
