//===- Views.h - Memrefs in a launch plan -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A memref becomes a buffer and the numbers that its type leaves open. Patterns
// work on all numbers of a view and need not know which those are.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTOPLAN_VIEWS_H
#define MX_LIB_CONVERSION_MXGPUTOPLAN_VIEWS_H

#include "../Utils/FunctionPatterns.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

namespace mx::mxgpu {

/// Computes with sizes at one place.
class PlanBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  mlir::Value multiply(mlir::ValueRange factors);
  /// Values, and constants for what is known.
  llvm::SmallVector<mlir::Value> getValues(llvm::ArrayRef<int64_t> known,
                                           mlir::ValueRange values);
  /// Requires `a` to be `b` at run time, with a message that shows both.
  void requireEqual(mlir::Value a, mlir::Value b, const llvm::Twine &what);
  /// Requires sizes that are no extents of `type` otherwise.
  void requireExtents(mlir::MemRefType type, mlir::ValueRange sizes);
  mlir::Value alloc(mlir::Value bytes);
};

/// The bits of an integer or a float.
llvm::APInt getBits(mlir::Attribute number);

/// A memref: a buffer and where in it the elements are. The offset and the
/// strides count elements.
struct View {
  mlir::Value buffer, offset;
  llvm::SmallVector<mlir::Value> sizes, strides;

  mlir::Value &get(KernelParameter parameter);
};

/// The view of a memref of `type` from what stands for it in a plan.
View getView(PlanBuilder &builder, mlir::MemRefType type,
             mlir::ValueRange fields);
/// What stands for a memref of `type` in a plan.
llvm::SmallVector<mlir::Value> getViewParameters(mlir::MemRefType type,
                                                 View view);
/// Replaces the only result of an operation, a memref, by what stands for it.
void replaceByView(mlir::ConversionPatternRewriter &rewriter,
                   mlir::Operation *op, const View &view);
/// The same where it is a whole buffer, of such extents.
void replaceByBuffer(mlir::ConversionPatternRewriter &rewriter,
                     mlir::Operation *op, mlir::Value buffer,
                     llvm::SmallVector<mlir::Value> sizes);
/// Bytes of an array without gaps, of such extents.
mlir::Value getBytes(PlanBuilder &builder, mlir::MemRefType type,
                     mlir::ValueRange sizes);

/// The values that stand for operands of types that stay.
llvm::SmallVector<mlir::Value>
getSingles(llvm::ArrayRef<mlir::ValueRange> operands);

void addViewPatterns(const mlir::TypeConverter &converter,
                     mlir::RewritePatternSet &patterns);
/// Memory, tensor maps and launches.
void addCommandPatterns(const mlir::TypeConverter &converter,
                        mlir::RewritePatternSet &patterns);
/// Windows, the number of a rank, and collectives.
void addRankGroupPatterns(const mlir::TypeConverter &converter,
                          mlir::RewritePatternSet &patterns);

} // namespace mx::mxgpu

namespace mx {

/// A pattern for an operation whose first operand is a memref.
template <typename Op,
          void (*rewrite)(Op, mxgpu::View &, llvm::ArrayRef<mlir::ValueRange>,
                          mxgpu::PlanBuilder &,
                          mlir::ConversionPatternRewriter &)>
class PatternOf<rewrite> final : public mlir::OpConversionPattern<Op> {
public:
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  llvm::LogicalResult
  matchAndRewrite(Op op, OneToN<Op> operands,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    mxgpu::PlanBuilder builder(op.getLoc(), rewriter);
    auto type = mlir::cast<mlir::MemRefType>(op->getOperand(0).getType());
    mxgpu::View view = getView(builder, type, operands.getOperands().front());
    rewrite(op, view, operands.getOperands().drop_front(), builder, rewriter);
    return mlir::success();
  }
};

} // namespace mx

#endif // MX_LIB_CONVERSION_MXGPUTOPLAN_VIEWS_H
