//===- Lowering.h - Common code of kernel lowerings -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Pattern registration, and arithmetic shared by patterns and earlier passes.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_COMMON_LOWERING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_COMMON_LOWERING_H

#include "../../Utils/FunctionPatterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MXBar/IR/MXBar.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Returns the chip of the enclosing kernel, or null for an unknown or missing
/// chip.
const target::TargetInfo *getKernelTarget(mlir::Operation *op);

/// Returns the L2 cache policy word (i64) of a hint, or null for `none`.
mlir::Value getCachePolicy(NVVMBuilder &builder, CacheHint hint);

using Values = llvm::SmallVector<mlir::Value>;

/// Replaces an operation by its first operand after type conversion.
template <typename Op>
Values forwardOperand(NVVMBuilder &, Op, typename Op::Adaptor adaptor) {
  return {adaptor.getOperands().front()};
}

/// Returns the type of a lowered stage: a pointer to its start in shared
/// memory, or its number (i32).
mlir::Type convertStageType(StageType type);

/// Returns elements `first` to `first + count` of a vector as i32 words. A
/// rounding from f32 is fused.
llvm::SmallVector<mlir::Value> getWords(NVVMBuilder &builder,
                                        mlir::Value vector, int64_t first,
                                        int64_t count);

/// Returns a thread's rows of a fragment, given its vector of registers.
llvm::SmallVector<mlir::Value>
takeRows(NVVMBuilder &builder, mlir::Value registers, FragmentType type);

/// Returns the global address of a byte of a memref with identity layout, or of
/// an element of a matrix with contiguous rows.
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value memref,
                             mlir::Value bytes);
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value matrix,
                             mlir::Value row, mlir::Value column,
                             int64_t bytes);

/// Convert between a vector and its words (i32).
llvm::SmallVector<mlir::Value> splitWords(NVVMBuilder &builder,
                                          mlir::Value vector);
mlir::Value joinWords(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> words,
                      mlir::VectorType type);
/// Returns the elements per byte of memory.
int64_t getPacking(mlir::Type element);
/// Converts vectors of 4-bit or 6-bit elements, which LLVM does not support, to
/// words.
void addNarrowVectorConversions(mlir::TypeConverter &converter);

/// Converts narrow elements to a byte each, so that single elements can be
/// extracted, and back. Vectors of other elements are unchanged.
mlir::Value spreadElements(NVVMBuilder &builder, mlir::Value vector,
                           mlir::Type element);
mlir::Value packElements(NVVMBuilder &builder, mlir::Value vector,
                         mlir::Type element);

/// Returns the types of the parameters of a kernel argument. Tensor maps are
/// pointers with `byval`.
llvm::SmallVector<mlir::Type> getKernelParameterTypes(mlir::Type type);
/// Returns the dynamic sizes, strides and offset of a memref, for kernels that
/// take it as `type`.
llvm::SmallVector<mlir::Value> getDynamicNumbers(NVVMBuilder &builder,
                                                 mlir::Value memref,
                                                 mlir::MemRefType type);
/// Creates a memref from its pointer and these numbers (index). The offset is
/// added to the pointer.
mlir::Value buildMemRef(NVVMBuilder &builder, mlir::MemRefType type,
                        mlir::Value pointer, mlir::ValueRange numbers);

/// Returns the tensor memory of a kernel with placed rings, or null.
mxbar::TensorMemoryOp getTensorMemory(KernelOp kernel);

/// Fails at an operation of kinds `Ops`, which an earlier pass lowers. `order`
/// follows the word "before" in the message.
template <typename... Ops>
llvm::LogicalResult verifyLowered(KernelOp kernel, llvm::StringRef order) {
  auto result = kernel.walk([&](mlir::Operation *op) -> mlir::WalkResult {
    if (!mlir::isa<Ops...>(op))
      return llvm::success();
    return op->emitOpError("expected to be lowered before ") << order;
  });
  return llvm::failure(result.wasInterrupted());
}

void populateClusterPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
void populateBarrierPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
void populateTensorCorePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
/// Lowers fragments to vectors of a thread's registers.
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
/// Lowers accesses to fragments and scales of a role in shared memory.
void populateSharedFragmentPatterns(mlir::RewritePatternSet &patterns,
                                    const mlir::TypeConverter &converter);
/// Lowers stores of fragments to global memory.
void populateStorePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
/// Lowers accesses to vectors of tiles in shared memory.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateQuantizePatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateDequantizePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
/// Lowers dequantization of fragments to bf16.
void populateDequantizeFragmentPatterns(mlir::RewritePatternSet &patterns,
                                        const mlir::TypeConverter &converter);
/// Lowers accesses to scales in global memory.
void populateScalePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);

} // namespace mx::mxgpu

namespace mx {

/// Replaces operations by the results of `lower`, one per result.
template <typename Op, typename Adaptor, typename... Converter,
          mxgpu::Values (*lower)(mxgpu::NVVMBuilder &, Op, Adaptor,
                                 Converter...)>
class PatternOf<lower> final : public mlir::OpConversionPattern<Op> {
public:
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  llvm::LogicalResult
  matchAndRewrite(Op op, Adaptor adaptor,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    mxgpu::NVVMBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, lower(builder, op, adaptor,
                  static_cast<Converter>(*this->getTypeConverter())...));
    return mlir::success();
  }
};

} // namespace mx

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_COMMON_LOWERING_H
