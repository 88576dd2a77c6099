//===- Patterns.h - Lowering patterns of the CPU path -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One pattern per mx operation.
//
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
void populateRankGroupPatterns(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);

/// Emits `body` with the row that `rows` lists for `row`, if it lists one.
void emitIfRowExists(Emitter &emitter, mlir::Value rows, Int row, Int count,
                     llvm::function_ref<void(Int)> body);

/// Adds an f32 to the element of `out` at a place.
void emitAddition(Emitter &emitter, mlir::Value term, mlir::Value out,
                  llvm::ArrayRef<mlir::Value> place);

/// Quantizations of which something is dequantized at once become ones of which
/// nothing is, and the rest.
void decomposeQuantizations(mlir::Operation *root);
/// Memory for elements of `type` of the shape of `out`, or for one scale of
/// each `block` of them in a row.
mlir::Value allocateLike(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value out, mlir::Type type, int64_t block = 1);
/// Dequantizes inputs with scales before they are packed.
void decomposePackings(mlir::Operation *root);

/// The array that an operand has become: `original` is the operand before type
/// conversion.
inline Elements getElements(mlir::Value original, mlir::Value converted) {
  return {converted, mlir::getElementTypeOrSelf(original.getType())};
}
/// Copies a `rows x columns` operand, or a batch of them, from
/// `order` to rows, after checks of its shape.
Elements toRows(Emitter &emitter, llvm::StringRef name, const Elements &stored,
                OperandOrderAttrInterface order, Int rows, Int columns);
/// Scales of an array of rank `logicalRank`, to be written or copied.
Scales getScales(mlir::Value scales, int64_t logicalRank,
                 int64_t blockRows = 1);
/// The same, to be decoded: `original` is the operand before type conversion.
Scales getScales(Emitter &emitter, mlir::Value original, mlir::Value converted,
                 int64_t logicalRank, int64_t blockSize);

/// Arrays of what is quantized, where it is not an input as it is: gathered
/// rows, and what the prologue yields. Buffer deallocation frees them.
llvm::SmallVector<mlir::Value>
computeValues(Emitter &emitter, FusedQuantizeOp op, mlir::ValueRange inputs,
              mlir::ValueRange inputScales, mlir::Value gather);

} // namespace mx::cpu

namespace mx {

/// Lowers an operation on memrefs to what `emit` writes in its place.
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
