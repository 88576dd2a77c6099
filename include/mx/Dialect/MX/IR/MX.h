//===- MX.h - The mx dialect ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MX_H
#define MX_DIALECT_MX_IR_MX_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MX/IR/MXDialect.h.inc"
#include "mx/Dialect/MX/IR/MXLayouts.h"

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MX/IR/MXAttrs.h.inc"

namespace mx {

/// Input of a quantization.
struct QuantizeSource {
  mlir::Value tensor;
  /// Scales of a quantized input, or null.
  mlir::Value scales;
  /// Element type after dequantization.
  mlir::Type numberType;

  /// Returns the block size that the shape of linear scales implies, or else
  /// their type.
  BlockShape getBlockSize() const;
};

/// Operand in the `outs` of a quantization, with the corresponding result.
struct QuantizeOut {
  enum class Kind { Elements, Scales, Spreads, Dequantized, Amax };

  Kind kind;
  /// Index of the quantized value.
  unsigned value;
  /// Index in `axes`; unused for an amax.
  unsigned axis = 0;
};

/// Rows per word of mx.row_classes.
inline constexpr int64_t kRowsPerWord = 32;
/// Returns the number of words for the classes of `rows` rows.
inline int64_t getWordsOfRows(int64_t rows) {
  return mlir::ShapedType::isDynamic(rows)
             ? rows
             : (rows + kRowsPerWord - 1) / kRowsPerWord;
}

/// Returns the dimension that expert groups divide in the destinations for
/// `axis`. The destinations for axis 0 are transposed.
RaggedKind getRaggedOfAxis(RaggedKind ragged, int64_t axis);

/// Memory that other ranks write. Effects on this memory also order
/// collectives.
struct RankGroupResource
    : mlir::SideEffects::Resource::Base<RankGroupResource> {
  llvm::StringRef getName() final { return "mx.group"; }
};

/// Builds the body of an epilogue. The arguments are the f32 accumulators, the
/// row and the column. The returned element is rounded to the type of `outs`.
using EpilogueBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

class MatmulOpInterface;
namespace detail {
mlir::FailureOr<MatmulOpInterface> attachEpilogue(MatmulOpInterface matmul,
                                                  mlir::RewriterBase &rewriter,
                                                  EpilogueBody epilogue);
} // namespace detail

} // namespace mx

#include "mx/Dialect/MX/IR/MXInterfaces.h.inc"

namespace mx {

/// Returns the operand order of A or B, from the encoding of its type or from
/// the attribute `a_order` or `b_order`; null if there is none.
OperandOrderAttrInterface getOrderOfA(MatmulOpInterface op);
OperandOrderAttrInterface getOrderOfB(MatmulOpInterface op);
void copyOrders(MatmulOpInterface from, MatmulOpInterface to);

/// Returns true if B is stored in tiles, with or without an encoding.
bool hasPackedB(MatmulOpInterface op);

/// Returns the logical shape of B, `[b...] x N x K`. For materialized tiles the
/// shape is inferred from the result and A.
llvm::SmallVector<int64_t> getLogicalShapeOfB(MatmulOpInterface op);

} // namespace mx

#define GET_OP_CLASSES
#include "mx/Dialect/MX/IR/MXOps.h.inc"

namespace mx {

/// Replaces each mx.quantize in `root` by mx.fused_quantize, and each mx.fold
/// by mx.dequantize and mx.fused_quantize.
void generalizeQuantizations(mlir::Operation *root);

} // namespace mx

#endif // MX_DIALECT_MX_IR_MX_H
