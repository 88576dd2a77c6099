//===- Lowering.h - Common code of kernel lowerings -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_COMMON_LOWERING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_COMMON_LOWERING_H

#include "../../Utils/FunctionPatterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MXBar/IR/MXBar.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Attribute of gpu.all_reduce in a kernel with several roles: the named
/// barrier, first warp and number of warps of its role.
inline constexpr llvm::StringLiteral kReducingRoleAttrName = "mx.role";

/// Returns the chip of the enclosing kernel, or null if it is unknown.
const target::TargetInfo *getKernelTarget(mlir::Operation *op);

/// Returns the L2 cache policy word (i64) of a hint, or null for `none`.
mlir::Value getCachePolicy(NVVMBuilder &builder, CacheHint hint);

/// Replaces joined kernels, now functions with one block, by a function that
/// branches on the CTA number.
void lowerJoined(KernelOp joined);

using Values = llvm::SmallVector<mlir::Value>;

/// Replaces an operation with its first operand after type conversion.
template <typename Op>
Values forwardOperand(NVVMBuilder &, Op, typename Op::Adaptor adaptor) {
  return {adaptor.getOperands().front()};
}

/// Returns the type of a lowered stage: a pointer to its start in shared
/// memory, or its number (i32).
mlir::Type convertStageType(StageType type);

/// Returns elements `first` to `first + count` of a vector as i32 words. If the
/// vector is rounded from f32, the words are converted from the f32 values.
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
/// Returns the number of elements per byte of memory.
int64_t getPacking(mlir::Type element);
/// Converts vectors of 4-bit or 6-bit elements to words, because LLVM does not
/// support these elements.
void addNarrowVectorConversions(mlir::TypeConverter &converter);

/// Convert between packed narrow elements and a byte per element, so that
/// single elements can be extracted. Vectors of other elements are unchanged.
mlir::Value spreadElements(NVVMBuilder &builder, mlir::Value vector,
                           mlir::Type element);
mlir::Value packElements(NVVMBuilder &builder, mlir::Value vector,
                         mlir::Type element);

/// Returns the types of the parameters of a kernel argument. Tensor maps are
/// pointers with `byval`.
llvm::SmallVector<mlir::Type> getKernelParameterTypes(mlir::Type type);
/// Returns the sizes, strides and offset of `memref` that are dynamic in
/// `type`, the type of the kernel argument.
llvm::SmallVector<mlir::Value> getDynamicNumbers(NVVMBuilder &builder,
                                                 mlir::Value memref,
                                                 mlir::MemRefType type);
/// Creates a memref from its pointer and the results of getDynamicNumbers
/// (index). The offset is added to the pointer.
mlir::Value buildMemRef(NVVMBuilder &builder, mlir::MemRefType type,
                        mlir::Value pointer, mlir::ValueRange numbers);

/// Returns the tensor memory of a kernel with placed rings, or null.
mxbar::TensorMemoryOp getTensorMemory(KernelOp kernel);

/// Fails if the kernel contains an operation of kinds `Ops`, which an earlier
/// pass lowers. `order` follows the word "before" in the message.
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
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateSharedFragmentPatterns(mlir::RewritePatternSet &patterns,
                                    const mlir::TypeConverter &converter);
void populateStorePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
/// Lowers the quantizer's accesses to tiles in shared memory.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateQuantizePatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateDequantizePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
void populateDequantizeFragmentPatterns(mlir::RewritePatternSet &patterns,
                                        const mlir::TypeConverter &converter);
/// Lowers accesses to scales in global memory.
void populatePeerPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateScalePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);

} // namespace mx::mxgpu

namespace mx {

/// Replaces the results of operations with the values that `lower` returns.
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
