//===- Views.h - Memrefs in launch plans ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A memref becomes a buffer and its dynamic sizes, strides and offset. Patterns
// use a View, in which static numbers are constants.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTOPLAN_VIEWS_H
#define MX_LIB_CONVERSION_MXGPUTOPLAN_VIEWS_H

#include "../Utils/FunctionPatterns.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

namespace mx::mxgpu {

/// Builder for size arithmetic at a location.
class PlanBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  mlir::Value multiply(mlir::ValueRange factors);
  /// Returns a value for each number in `known`: a constant for a static
  /// number, or the next element of `values` for a dynamic number.
  llvm::SmallVector<mlir::Value> getValues(llvm::ArrayRef<int64_t> known,
                                           mlir::ValueRange values);
  /// Requires `a` == `b` at run time, with a message that contains both.
  void requireEqual(mlir::Value a, mlir::Value b, const llvm::Twine &what);
  /// Requires valid dynamic sizes for `type`.
  void requireExtents(mlir::MemRefType type, mlir::ValueRange sizes);
  mlir::Value alloc(mlir::Value bytes);
};

/// Returns the bits of an integer or float attribute.
llvm::APInt getBits(mlir::Attribute number);

/// Memref in a plan: a buffer with offset, sizes and strides in elements.
struct View {
  mlir::Value buffer, offset;
  llvm::SmallVector<mlir::Value> sizes, strides;

  mlir::Value &get(KernelParameter parameter);
};

/// Returns the view of a memref of `type` from its converted values.
View getView(PlanBuilder &builder, mlir::MemRefType type,
             mlir::ValueRange fields);
/// Returns the converted values of a memref of `type`.
llvm::SmallVector<mlir::Value> getViewParameters(mlir::MemRefType type,
                                                 View view);
/// Replaces the only result of an operation, a memref, by the converted values.
void replaceByView(mlir::ConversionPatternRewriter &rewriter,
                   mlir::Operation *op, const View &view);
/// Replaces the result of `op` by a whole buffer with these dynamic sizes.
void replaceByBuffer(mlir::ConversionPatternRewriter &rewriter,
                     mlir::Operation *op, mlir::Value buffer,
                     llvm::SmallVector<mlir::Value> sizes);
/// Returns the size in bytes of a contiguous array with these dynamic sizes.
mlir::Value getBytes(PlanBuilder &builder, mlir::MemRefType type,
                     mlir::ValueRange sizes);

/// Returns the operands if the conversion maps each operand to a single value.
llvm::SmallVector<mlir::Value>
getSingles(llvm::ArrayRef<mlir::ValueRange> operands);

void addViewPatterns(const mlir::TypeConverter &converter,
                     mlir::RewritePatternSet &patterns);
/// Adds the patterns for memory, tensor maps and launches.
void addCommandPatterns(const mlir::TypeConverter &converter,
                        mlir::RewritePatternSet &patterns);
/// Adds the patterns for windows, ranks and collectives.
void addRankGroupPatterns(const mlir::TypeConverter &converter,
                          mlir::RewritePatternSet &patterns);

} // namespace mx::mxgpu

namespace mx {

/// Pattern for operations with a memref as the first operand.
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
