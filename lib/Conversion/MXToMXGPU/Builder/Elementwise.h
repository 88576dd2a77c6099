//===- Elementwise.h - Thread loops over elements and tiles --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H

#include "KernelBuilder.h"

namespace mx::mxgpu {

/// Size and alignment of a thread's vector load or store, in bytes.
inline constexpr int64_t kLoadBytes = 16;

/// Assignment of vector-sized pieces of a tile to threads. Adjacent threads own
/// adjacent pieces of a row. Each thread owns a piece in every `step`-th row.
struct TileThreads {
  int64_t step;            ///< rows covered by all threads at once
  mlir::Value row, column; ///< first element of the first piece

  /// Returns the assignment of `columns` columns in `vector`-element pieces.
  static TileThreads get(KernelBuilder &body, int64_t threads, int64_t columns,
                         int64_t vector);
};

/// Creates a role with a loop over matrix tiles (the work tiles). Leaves the
/// builder in the loop. The returned `row` and `column` are matrix indices.
TileThreads forEachTile(KernelBuilder &body, llvm::StringRef role,
                        mlir::Value rows, mlir::Value columns,
                        llvm::ArrayRef<int64_t> tile, int64_t threads,
                        int64_t vector, RasterAttr raster);

/// Threads of a CTA in forEachElement, with one element each.
inline constexpr int64_t kElementThreads = 256;

/// Creates a role and a loop over pieces of a row of `count` elements, with a
/// thread for each element. Leaves the builder in a branch that is taken for
/// elements in bounds, and returns the element index.
mlir::Value forEachElement(KernelBuilder &body, llvm::StringRef role,
                           mlir::Value count);

/// Builds and launches a kernel with a thread for each of `count` elements.
/// `emit` gets the kernel arguments and the element index.
void launchForEachElement(
    KernelBuilder &host, KernelBuilder &body, mlir::gpu::GPUModuleOp module,
    llvm::StringRef name, mlir::Value count,
    llvm::ArrayRef<mlir::Value> arguments,
    llvm::function_ref<void(mlir::Block::BlockArgListType, mlir::Value)> emit);

/// Returns true if scales behind `batch` dimensions use the layout mn_major.
bool isMNMajor(mlir::Value scales, int64_t batch);
/// Returns the matrix or tiles of scales that a kernel addresses, with
/// collapsed batches. Scales in layout mn_major become a matrix of blocks by
/// rows.
mlir::Value viewScales(KernelBuilder &host, mlir::Value scales, int64_t batch);
/// Loads a scale from a matrix, from one of blocks by rows if `isMNMajor`, or
/// from tiles.
mlir::Value loadScale(KernelBuilder &body, mlir::Value scales, mlir::Value row,
                      mlir::Value block, BlockShape blockSize,
                      bool isMNMajor = false);
/// Loads an entry of an integer list as an index.
mlir::Value loadIndex(KernelBuilder &body, mlir::Value list, mlir::Value place);
/// Stores an index in an i32 list.
void storeIndex(KernelBuilder &body, mlir::Value number, mlir::Value list,
                mlir::ValueRange place);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_ELEMENTWISE_H
