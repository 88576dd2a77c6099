//===- MX.h - The mx dialect ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the mx dialect: block-scaled quantization and matmuls on tensors,
// with the scales' physical layout as part of their type.
//
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

#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MX/IR/MXDialect.h.inc"
#include "mx/Dialect/MX/IR/MXLayouts.h"

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MX/IR/MXAttrs.h.inc"

namespace mx {

/// A tensor that a quantization reads.
struct QuantizeSource {
  mlir::Value tensor;
  /// Of a tensor that is quantized already, else null.
  mlir::Value scales;
  /// What it has, or is dequantized to.
  mlir::Type numberType;

  int64_t getBlockSize() const {
    return getBlockFormat(mlir::getElementTypeOrSelf(scales)).blockSize;
  }
};

/// What one of the `outs` of a quantization is, and so one of its results.
struct QuantizeOut {
  enum class Kind { Elements, Scales, Dequantized, Amax };

  Kind kind;
  /// Which of the values that are quantized it belongs to.
  unsigned value;
  /// Its place in `axes`; an amax has none.
  unsigned axis = 0;
};

/// Returns the dimension that the expert groups of an input divide in the
/// destinations of an axis, which are transposed for axis 0.
RaggedKind getRaggedOfAxis(RaggedKind ragged, int64_t axis);

/// Memory that other ranks write, and the order in which ranks meet.
struct RankGroupResource
    : mlir::SideEffects::Resource::Base<RankGroupResource> {
  llvm::StringRef getName() final { return "mx.group"; }
};

/// Builds the region of an epilogue: gets the f32 accumulators, the row and the
/// column, and returns the element, which is rounded to the type of `outs`.
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

/// The order of an operand of a matmul, in either form, or null.
OperandOrderAttrInterface getOrderOfA(MatmulOpInterface op);
OperandOrderAttrInterface getOrderOfB(MatmulOpInterface op);
/// Gives the operands of `to` the orders of the operands of `from`.
void copyOrders(MatmulOpInterface from, MatmulOpInterface to);

/// Whether the right operand of a matmul is stored in tiles, in either form.
bool hasPackedB(MatmulOpInterface op);

/// Logical shape of the right operand, `[b...] x N x K`: of materialized tiles
/// the one that the result and the left operand imply.
llvm::SmallVector<int64_t> getLogicalShapeOfB(MatmulOpInterface op);

} // namespace mx

#define GET_OP_CLASSES
#include "mx/Dialect/MX/IR/MXOps.h.inc"

namespace mx {

/// Replaces each mx.quantize in `root` by the operation that fusion works on.
void generalizeQuantizations(mlir::Operation *root);

} // namespace mx

#endif // MX_DIALECT_MX_IR_MX_H
