//===- ElementRegion.h - Epilogues and prologues on vectors --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The epilogue of mx.matmul and the prologue of mx.quantize speak of one
// element. A thread of a kernel holds consecutive columns of one row: what
// depends on the row alone is computed once, the rest on vectors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mx::mxgpu {

/// Returns true for the types that a thread of a kernel computes with.
bool isKernelNumber(mlir::Type type);
/// Returns true if an NVPTX instruction computes this operation of the math
/// dialect bit by bit like the CPU path. mx-expand-math expands the others.
bool hasKernelInstruction(mlir::Operation *op);

/// The epilogue of mx.matmul and the prologue of mx.quantize speak of one
/// element. A thread of a kernel holds consecutive columns of one row: what
/// depends on the row alone is computed once, the rest on vectors.
class ElementRegion {
public:
  /// The region of an operation: its block, or null where there is none.
  explicit ElementRegion(mlir::Block *block);

  /// Says at an operation of the region why it cannot be inlined.
  llvm::LogicalResult verify();

  /// Values from outside that a kernel needs as arguments.
  llvm::ArrayRef<mlir::Value> getCaptures() const;
  /// Gives a captured value its counterpart in the kernel.
  void capture(mlir::Value value, mlir::Value inKernel);

  explicit operator bool() const;

  /// Requires at run time that what is read at the number of the element's row
  /// or column has as many entries as there are `rows` or `columns`.
  void requireSizes(KernelBuilder &host, mlir::Value rows, mlir::Value columns);

  /// Whether anything but the elements depends on the column.
  bool usesColumns() const;

  /// Emits what is the same in all columns of `row`, which exists.
  void emitScalars(KernelBuilder &builder, mlir::Value row);
  /// Whether vectors that the region reads are aligned, for whole columns; null
  /// if it reads none. After `emitScalars`.
  mlir::Value areLoadsAligned(KernelBuilder &builder, int64_t count);
  /// Emits the rest for the elements in `columns`, a vector for each argument
  /// that stands for one, and returns what is yielded.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder &builder,
                                      mlir::ValueRange elements,
                                      const Columns &columns);

private:
  /// How a value depends on the place of its element.
  enum class Kind {
    Scalar, ///< not on the column
    Column, ///< the column plus an offset that is Scalar
    Vector
  };

  Kind getKind(mlir::Value value) const {
    auto found = kinds.find(value);
    return found == kinds.end() ? Kind::Scalar : found->second;
  }
  /// A column that is clamped, by mx-clamp-indices for one, to places from 0 to
  /// an end that is Scalar. No column: it is something else.
  struct ClampedColumn {
    mlir::Value column;
    mlir::Value end; ///< null for none
  };
  ClampedColumn getClampedColumn(mlir::Value value) const;
  void classify(mlir::Block &inside);
  Kind classify(mlir::Operation *op);
  /// Whether numbers of f64 are computed for each column.
  bool isWide();
  mlir::Value emitLoad(KernelBuilder &builder, mlir::memref::LoadOp load,
                       const Columns &columns);
  /// `emit` of elements, and of loads that are made, from `inputs`.
  llvm::SmallVector<mlir::Value> emitColumns(KernelBuilder &builder,
                                             const mlir::IRMapping &inputs,
                                             const Columns &columns);
  llvm::LogicalResult verify(mlir::Operation *op);
  llvm::LogicalResult verifyBranch(mlir::scf::IfOp op);
  llvm::LogicalResult verifyLoad(mlir::Operation *op);
  /// The offset of a value of kind Column, null for none.
  mlir::Value getOffset(KernelBuilder &builder, mlir::Value value);

  mlir::Block *block;
  llvm::DenseMap<mlir::Value, Kind> kinds;
  llvm::SmallVector<mlir::Value> captures, constants;
  mlir::IRMapping scalars;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTREGION_H
