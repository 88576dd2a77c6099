//===- Lowering.h - What the patterns of a kernel share ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Patterns of operations, and the arithmetic that several of them and the steps
// before need.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// The chip of the kernel around an operation, or null where its module does
/// not name one that is known.
const target::TargetInfo *getKernelTarget(mlir::Operation *op);

/// The arguments of a loop's body, and whether there is a work tile (i1), or
/// null if there always is one.
struct SingleWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value exists;
};

/// A work tile of a scheduler over `groups`: the arguments of the loop's body,
/// and the number of the work tile or, if there is none, -1 (i32s).
struct GroupWorkTile {
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value number;

  llvm::SmallVector<mlir::Value> getWords() const {
    llvm::SmallVector<mlir::Value> words(arguments);
    words.push_back(number);
    return words;
  }
};

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

/// The group that has a tile of packed rows, the first of its rows in it, and
/// its end: i32s, and whether there is one (i1).
struct GroupTile {
  mlir::Value group, start, end, exists;
};

/// Finds it by the ends of the groups; all lanes of a warp must take part.
/// `rows` (index) are those of the tensor, beyond which no group ends.
GroupTile findGroupTile(NVVMBuilder &builder, mlir::Value offsets,
                        mlir::Value rows, mlir::Value tile, int64_t tileRows);

/// The first work tile of a CTA or pair, and the one after its loop's current
/// one; all lanes of a warp must take part.
GroupWorkTile findFirstGroupWorkTile(NVVMBuilder &builder,
                                     TileSchedulerOp source);
GroupWorkTile findNextGroupWorkTile(NVVMBuilder &builder,
                                    TileSchedulerOp source,
                                    mlir::scf::WhileOp loop);
/// Passed through 32 bytes of shared memory.
void storeGroupWorkTile(NVVMBuilder &builder, const GroupWorkTile &unit,
                        mlir::Value address);
GroupWorkTile loadGroupWorkTile(NVVMBuilder &builder, mlir::Value address);

/// The number of a CTA or pair, which is that of its first work tile, and the
/// number of CTAs or pairs: i32s.
mlir::Value getFirstUnit(NVVMBuilder &builder, mlir::Operation *op);
mlir::Value getUnitStep(NVVMBuilder &builder, mlir::Operation *op);

/// Tiles that cover `size` (index, below 2^63), as an i32.
mlir::Value getTiles(NVVMBuilder &builder, mlir::Value size, int64_t tile);

/// The number of work tiles of a scheduler (i32).
mlir::Value getNumUnits(NVVMBuilder &builder, TileSchedulerOp source);

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
/// Vectors of 4-bit or 6-bit elements, which LLVM does not support, become
/// words.
void addNarrowVectorConversions(mlir::TypeConverter &converter);

/// The elements of such a vector as bytes, one each, and back. Vectors of other
/// elements stay as they are.
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

/// Whether mxgpu-allocate has run: the attributes that it sets are used without
/// checks.
bool isAllocated(KernelOp kernel);

/// Fails at an operation of these kinds, which an earlier pass should have
/// lowered. `order` follows the word "before" in the message.
template <typename... Ops>
llvm::LogicalResult verifyLowered(KernelOp kernel, llvm::StringRef order) {
  mlir::WalkResult result = kernel.walk([&](mlir::Operation *op) {
    if (!mlir::isa<Ops...>(op))
      return mlir::WalkResult::advance();
    op->emitOpError("expected to be lowered before ") << order;
    return mlir::WalkResult::interrupt();
  });
  return llvm::failure(result.wasInterrupted());
}

/// Puts allocated roles, which are adjacent, into branches on the warp number.
void lowerRoles(KernelOp kernel);

void populateGridPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter);
void populateBarrierPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
void populateTensorCorePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
void populateAccumulatorPatterns(mlir::RewritePatternSet &patterns,
                                 const mlir::TypeConverter &converter);
/// Fragments as vectors of a thread's registers.
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populatePartsPatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);
/// Fragments of a whole role from and to shared memory, and their scales.
void populateSharedFragmentPatterns(mlir::RewritePatternSet &patterns,
                                    const mlir::TypeConverter &converter);
void populateFragmentScalePatterns(mlir::RewritePatternSet &patterns,
                                   const mlir::TypeConverter &converter);
void populateBulkStorePatterns(mlir::RewritePatternSet &patterns,
                               const mlir::TypeConverter &converter);
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
void populateWindowPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateReducePatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
/// Scales in global memory.
void populateScalePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_LOWERING_H
