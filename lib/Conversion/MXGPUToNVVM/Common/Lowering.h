//===- Lowering.h - What the patterns of a kernel share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Patterns of operations, and the arithmetic that several of them and the steps
// before need.
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

/// The chip of the kernel around an operation, or null where its module does
/// not name one that is known.
const target::TargetInfo *getKernelTarget(mlir::Operation *op);

/// The L2 cache policy of a hint, as the word (i64) that instructions take, or
/// null for none.
mlir::Value getCachePolicy(NVVMBuilder &builder, CacheHint hint);

using Values = llvm::SmallVector<mlir::Value>;

/// For an operation whose result is its first operand once types are converted.
template <typename Op>
Values forwardOperand(NVVMBuilder &, Op, typename Op::Adaptor adaptor) {
  return {adaptor.getOperands().front()};
}

/// What a stage becomes: the pointer into shared memory at which it starts, or
/// its number (i32).
mlir::Type convertStageType(StageType type);

/// Elements `first` to `first + count` of a vector as i32s; if they are rounded
/// from f32, the rounding is done on the way.
llvm::SmallVector<mlir::Value> getWords(NVVMBuilder &builder,
                                        mlir::Value vector, int64_t first,
                                        int64_t count);

/// The rows that a thread holds of a fragment, given its registers as a vector.
llvm::SmallVector<mlir::Value>
takeRows(NVVMBuilder &builder, mlir::Value registers, FragmentType type);

/// The global address of a byte of a memref with identity layout, and of an
/// element of a matrix whose rows are contiguous.
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value memref,
                             mlir::Value bytes);
mlir::Value getGlobalAddress(NVVMBuilder &builder, mlir::Value matrix,
                             mlir::Value row, mlir::Value column,
                             int64_t bytes);

/// The words (i32) that a vector consists of, and a vector of words.
llvm::SmallVector<mlir::Value> splitWords(NVVMBuilder &builder,
                                          mlir::Value vector);
mlir::Value joinWords(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> words,
                      mlir::VectorType type);
/// Elements in a byte of memory.
int64_t getPacking(mlir::Type element);
/// Vectors of 4-bit or 6-bit elements, which LLVM does not support, become
/// words.
void addNarrowVectorConversions(mlir::TypeConverter &converter);

/// The elements of such a vector as bytes, one each, so that single elements
/// can be picked, and back. Vectors of other elements stay as they are.
mlir::Value spreadElements(NVVMBuilder &builder, mlir::Value vector,
                           mlir::Type element);
mlir::Value packElements(NVVMBuilder &builder, mlir::Value vector,
                         mlir::Type element);

/// The types of the parameters that represent an argument of a kernel. Tensor
/// maps are pointers there, with `byval`.
llvm::SmallVector<mlir::Type> getKernelParameterTypes(mlir::Type type);
/// The dynamic sizes, strides and offset of a memref that are passed to kernels
/// which take it as `type`.
llvm::SmallVector<mlir::Value> getDynamicNumbers(NVVMBuilder &builder,
                                                 mlir::Value memref,
                                                 mlir::MemRefType type);
/// A memref from its pointer, to which the offset is added, and these numbers
/// (index).
mlir::Value buildMemRef(NVVMBuilder &builder, mlir::MemRefType type,
                        mlir::Value pointer, mlir::ValueRange numbers);

/// Returns the tensor memory of a kernel whose rings are placed, or null.
mxbar::TensorMemoryOp getTensorMemory(KernelOp kernel);

/// Fails at an operation of these kinds, which an earlier pass should have
/// lowered. `order` follows the word "before" in the message.
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
/// Fragments as vectors of a thread's registers.
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
/// Fragments of a whole role from and to shared memory, and their scales.
void populateSharedFragmentPatterns(mlir::RewritePatternSet &patterns,
                                    const mlir::TypeConverter &converter);
/// Fragments to global memory.
void populateStorePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
/// Fragments of tiles in shared memory.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateQuantizePatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateDequantizePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
/// Fragments of elements and their scales as fragments of bf16.
void populateDequantizeFragmentPatterns(mlir::RewritePatternSet &patterns,
                                        const mlir::TypeConverter &converter);
/// Scales in global memory.
void populateScalePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);

} // namespace mx::mxgpu

namespace mx {

/// Replaces operations by the values that `lower` builds, one per result.
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
