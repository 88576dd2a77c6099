//===- ElementRegion.h - Vectorized element regions ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mx::mxgpu {

/// Returns true for the types supported in computations of a kernel thread.
bool isKernelNumber(mlir::Type type);
/// Returns true if NVPTX has an instruction for this math operation that is
/// bit-identical to the CPU path. mx-expand-math expands the others.
bool hasKernelInstruction(mlir::Operation *op);

/// An epilogue of mx.matmul or prologue of mx.quantize, which computes one
/// element. A kernel thread processes consecutive columns of a row. Values that
/// depend only on the row are computed once, all other values as vectors.
class ElementRegion {
public:
  /// Wraps the body of an operation, or nothing if `block` is null.
  explicit ElementRegion(mlir::Block *block);

  /// Emits an error at an operation of the region that cannot be inlined.
  llvm::LogicalResult verify();

  /// Returns the values needed as kernel arguments.
  llvm::ArrayRef<mlir::Value> getCaptures() const;
  /// Maps a captured value to its kernel argument.
  void capture(mlir::Value value, mlir::Value inKernel);

  explicit operator bool() const;

  /// Requires at run time that memory which the region indexes by row contains
  /// `rows` entries, and memory indexed by column contains `columns` entries.
  void requireSizes(KernelBuilder &host, mlir::Value rows, mlir::Value columns);

  /// Returns true if any value other than the elements depends on the column.
  bool usesColumns() const;

  /// Emits the values that depend only on `row`. The row must be in bounds.
  void emitScalars(KernelBuilder &builder, mlir::Value row);
  /// Returns the condition without which all elements of the row are `number`,
  /// or null if there is none. Call after `emitScalars`.
  mlir::Value getRowCondition(const llvm::APFloat &number);
  /// Returns whether vector loads of `count` columns are aligned, or null if
  /// the region reads no vectors. Call after `emitScalars`.
  mlir::Value areLoadsAligned(KernelBuilder &builder, int64_t count);
  /// Emits the values of `columns`, with a vector for each element argument,
  /// and returns the yielded vectors.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder &builder,
                                      mlir::ValueRange elements,
                                      const Columns &columns);

private:
  /// Dependence of a value on the position of its element.
  enum class Kind {
    Scalar, ///< independent of the column
    Column, ///< the column plus a Scalar offset
    Vector
  };

  Kind getKind(mlir::Value value) const {
    auto found = kinds.find(value);
    return found == kinds.end() ? Kind::Scalar : found->second;
  }
  /// A column that is clamped to [0, end], e.g. by mx-clamp-indices. `end` is
  /// of kind Scalar. `column` is null if the value is not a clamped column.
  struct ClampedColumn {
    mlir::Value column;
    mlir::Value end; ///< null if there is no upper bound
  };
  ClampedColumn getClampedColumn(mlir::Value value) const;
  void classify(mlir::Block &inside);
  Kind classify(mlir::Operation *op);
  /// Returns true if columns are computed in f64.
  bool isWide();
  mlir::Value emitLoad(KernelBuilder &builder, mlir::memref::LoadOp load,
                       const Columns &columns);
  /// Implements `emit`; `inputs` maps the elements and the emitted loads.
  llvm::SmallVector<mlir::Value> emitColumns(KernelBuilder &builder,
                                             const mlir::IRMapping &inputs,
                                             const Columns &columns);
  llvm::LogicalResult verify(mlir::Operation *op);
  llvm::LogicalResult verifyBranch(mlir::scf::IfOp op);
  llvm::LogicalResult verifyLoad(mlir::Operation *op);
  /// Returns the offset of a value of kind Column, or null for none.
  mlir::Value getOffset(KernelBuilder &builder, mlir::Value value);

  mlir::Block *block;
  llvm::DenseMap<mlir::Value, Kind> kinds;
  llvm::SmallVector<mlir::Value> captures, constants;
  mlir::IRMapping scalars;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H
