//===- Elementwise.h - Threads over elements and tiles ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The loops of kernels in which each thread has elements of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H

#include "KernelBuilder.h"

namespace mx::mxgpu {

/// Bytes of a vector load or store of a thread, and its alignment.
inline constexpr int64_t kLoadBytes = 16;

/// The pieces of a tile that a thread has. Adjacent threads have adjacent
/// pieces of a row, and each has one in every `step`-th row.
struct TileThreads {
  int64_t step;            ///< rows that all threads take at a time
  mlir::Value row, column; ///< of the first element of the first piece

  /// In a tile of `columns` columns, in pieces of `vector` elements.
  static TileThreads get(KernelBuilder &body, int64_t threads, int64_t columns,
                         int64_t vector);
};

/// Creates work tiles that are tiles of a matrix, and a role for them. Leaves
/// the builder in the loop over them; `row` and `column` are of the matrix.
TileThreads forEachTile(KernelBuilder &body, llvm::StringRef role,
                        mlir::Value rows, mlir::Value columns,
                        llvm::ArrayRef<int64_t> tile, int64_t threads,
                        int64_t vector, RasterAttr raster);

/// Threads of a CTA in forEachElement, one element each.
inline constexpr int64_t kElementThreads = 256;

/// Creates work tiles that are pieces of a row of `count` elements, and a role
/// with a thread for each element. Leaves the builder where the element
/// exists, and returns its index.
mlir::Value forEachElement(KernelBuilder &body, llvm::StringRef role,
                           mlir::Value count);

/// Builds with `body`, and launches, a kernel with a thread for each of `count`
/// elements. `emit` gets the kernel's arguments and the element.
void launchForEachElement(
    KernelBuilder &host, KernelBuilder &body, mlir::gpu::GPUModuleOp module,
    llvm::StringRef name, mlir::Value count,
    llvm::ArrayRef<mlir::Value> arguments,
    llvm::function_ref<void(mlir::Block::BlockArgListType, mlir::Value)> emit);

/// Loads the scale of `row` and `block` of elements in blocks of a size.
mlir::Value loadScale(KernelBuilder &body, mlir::Value scales, mlir::Value row,
                      mlir::Value block, int64_t blockSize);
/// Loads an entry of a list of integers, as an index.
mlir::Value loadIndex(KernelBuilder &body, mlir::Value list, mlir::Value place);
/// Stores an index in a list of i32.
void storeIndex(KernelBuilder &body, mlir::Value number, mlir::Value list,
                mlir::ValueRange place);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H
