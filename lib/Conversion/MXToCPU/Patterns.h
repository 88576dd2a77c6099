//===- Patterns.h - Lowering patterns of the CPU path -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_PATTERNS_H
#define MX_LIB_CONVERSION_MXTOCPU_PATTERNS_H

#include "../Utils/FunctionPatterns.h"
#include "../Utils/Storage.h"
#include "Emitter.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx::cpu {

void populateQuantizePatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateDequantizePatterns(const mlir::TypeConverter &converter,
                                mlir::RewritePatternSet &patterns);
void populatePackOperandPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateMatmulPatterns(const mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns);
void populateGroupRowsPatterns(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);
void populateCombinePatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateRowClassesPatterns(const mlir::TypeConverter &converter,
                                mlir::RewritePatternSet &patterns);
void populateRankGroupPatterns(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);

/// Loads the entry of `rows` for `row`, and emits `body` for entries less than
/// `count`.
void emitIfRowExists(Emitter &emitter, mlir::Value rows, Int row, Int count,
                     llvm::function_ref<void(Int)> body);

/// Returns whether an element in a row of A and one or more rows of B belongs
/// to the class `where`. `matrix` begins with the indices of the matrix in each
/// of the row classes.
Int isSelected(mlir::OpBuilder &builder, mlir::Location loc, RowClass where,
               mlir::ValueRange classes, mlir::ValueRange matrix,
               mlir::Value row, mlir::ValueRange rowsOfB);
/// Emits `body`, to run if any of the row classes is set or if there are none.
void emitIfAny(Emitter &emitter, mlir::ValueRange classes,
               llvm::function_ref<void()> body);

/// Adds an f32 to an element of `out`.
void emitAddition(Emitter &emitter, mlir::Value term, mlir::Value out,
                  llvm::ArrayRef<mlir::Value> place);

/// Decomposes quantizations with dequantized destinations.
void decomposeQuantizations(mlir::Operation *root);
/// Allocates an array of `type` with the shape of `out`. The last dimension is
/// divided by `block` to allocate scales.
mlir::Value allocateLike(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value out, mlir::Type type, int64_t block = 1);
/// Dequantizes scaled inputs before they are packed.
void decomposePackings(mlir::Operation *root);

/// Returns the converted array. `original` is the unconverted operand.
inline Elements getElements(mlir::Value original, mlir::Value converted) {
  return {converted, mlir::getElementTypeOrSelf(original.getType())};
}
/// Copies a `rows x columns` operand, or a batch of operands, from `order` to
/// row-major order. Checks the shape of `stored`.
Elements toRows(Emitter &emitter, llvm::StringRef name, const Elements &stored,
                OperandOrderAttrInterface order, Int rows, Int columns);
/// Returns scales to write or copy. The elements have rank `logicalRank`.
Scales getScales(mlir::Value scales, int64_t logicalRank,
                 int64_t blockRows = 1);
/// Returns scales to decode. `original` is the unconverted operand.
Scales getScales(Emitter &emitter, mlir::Value original, mlir::Value converted,
                 int64_t logicalRank, BlockShape block);

/// Computes the values to quantize if the quantization has a gather or a
/// prologue. Returns arrays that buffer deallocation frees.
llvm::SmallVector<mlir::Value>
computeValues(Emitter &emitter, FusedQuantizeOp op, mlir::ValueRange inputs,
              mlir::ValueRange inputScales, mlir::Value gather);

} // namespace mx::cpu

namespace mx {

/// Lowers an operation on memrefs by replacing it with the output of `emit`.
template <typename Op, typename Adaptor,
          void (*emit)(cpu::Emitter &, Op, Adaptor)>
class PatternOf<emit> final : public mlir::OpConversionPattern<Op> {
public:
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  mlir::LogicalResult
  matchAndRewrite(Op op, Adaptor adaptor,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    if (op->getNumResults())
      return rewriter.notifyMatchFailure(op,
                                         "expected an operation on memrefs");
    cpu::Emitter emitter(rewriter, op);
    emit(emitter, op, adaptor);
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

} // namespace mx

#endif // MX_LIB_CONVERSION_MXTOCPU_PATTERNS_H
