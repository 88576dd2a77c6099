//===- KernelBuilder.h - Utilities for building kernels ------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds kernels and the host code that launches them. On the host, utilities
// view, address, allocate and clear memrefs. In kernels, they load consecutive
// columns.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

namespace mx::mxgpu {

class KernelBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  /// Returns an upper bound on the number of tiles if each expert group starts
  /// a new tile. The bound does not depend on the group sizes.
  mlir::Value packedTiles(mlir::Value rows, int64_t tile, mlir::Value offsets);
  /// Returns the size of a dimension, as a constant if it is static.
  mlir::Value dim(mlir::Value memref, int64_t dim);

  /// Creates a branch on `condition` and moves the insertion point into it.
  void beginIf(mlir::Value condition);

  /// Creates an empty kernel in the gpu.module without moving the insertion
  /// point. Its name is the enclosing function's name followed by `what`.
  KernelOp kernel(mlir::gpu::GPUModuleOp module, llvm::StringRef what,
                  mlir::TypeRange arguments, ScheduleAttr schedule = {});
  /// Launches `kernel` with a CTA for each work tile, limited to the resident
  /// CTAs of the device if the kernel fills an SM.
  void launch(KernelOp kernel, mlir::Value grid, mlir::ValueRange arguments);

  /// Creates a ring; mxgpu-lower-rings places its buffers.
  mlir::Value ring(RingType type, llvm::StringRef name);
  /// Creates a role and moves the insertion point into its body.
  RoleOp role(llvm::StringRef name, int64_t warps, bool elected,
              bool onLeader = false);
  /// Returns the index of this thread's warp within its role, and of its lane.
  std::pair<mlir::Value, mlir::Value> warpAndLane();
  /// Returns the maximum of an unsigned i32 over the lanes of a warp.
  mlir::Value warpMax(mlir::Value value) {
    return mlir::gpu::SubgroupReduceOp::create(
        *this, value, mlir::gpu::AllReduceOperation::MAXUI, /*uniform=*/true);
  }
  /// Creates a scheduler of work tiles of this size, row by row.
  mlir::Value scheduleTiles(mlir::Value rows, mlir::Value columns,
                            llvm::ArrayRef<int64_t> tile);
  /// Creates a loop over work tiles. A loop fed by a ring advances to the next
  /// work tile at the end of its body.
  ForEachWorkTileOp forEachWorkTile(mlir::Value work);
  /// Creates a K loop that by default yields the carried values unchanged.
  ForEachKOp forEachK(mlir::Value start, mlir::Value end, int64_t step,
                      mlir::ValueRange initial = {});
};

/// Returns the row of `chip`. Without kernels, reports an error and returns
/// null.
const target::TargetInfo *lookupTarget(mlir::ModuleOp module,
                                       std::string_view chip);
/// Returns the module's gpu.module for `target`, creating it on first use.
mlir::gpu::GPUModuleOp getKernelModule(mlir::ModuleOp module,
                                       const target::TargetInfo &target);

/// Returns the address of the first element of a memref or view.
mlir::Value getAddress(KernelBuilder &host, mlir::Value memref);

/// Converts 4- and 6-bit elements to bytes, as mx-store-as-bytes does.
mlir::Value toBytes(KernelBuilder &host, mlir::Value elements);
/// Returns a contiguous memref as a one-row matrix.
mlir::Value toRow(KernelBuilder &host, mlir::Value memref);
/// Returns a memref with its first `count` dimensions collapsed into one. A
/// count below 2 returns the memref itself.
mlir::Value collapseLeading(KernelBuilder &host, mlir::Value memref,
                            int64_t count);

/// Clears a whole memref before later operations run.
void clearMemory(KernelBuilder &host, mlir::Value memref);
/// Allocates a list of `size` i32 values. The caller frees it.
mlir::Value allocateList(KernelBuilder &host, mlir::Value size);

// Kernel threads process consecutive columns of a matrix row. The alignment of
// rows determines the width of loads.

/// Consecutive columns of a matrix that a thread processes.
struct Columns {
  mlir::Value first;
  int64_t count;
  /// The last column in bounds. Null if all columns are in bounds and the
  /// vectors that are read satisfy `isAligned`.
  mlir::Value last;
  /// Whether the thread's row is in bounds, or null if it always is.
  mlir::Value isPresent;

  /// Returns true if all columns are in bounds.
  bool areWhole() const;
};

/// Reads a row of `source`, given by its leading `indices`, at `columns` plus
/// `offset` (an index, or null). Columns past the end repeat the last column.
/// Rows past the end are not read, because another thread may write the row
/// that would be read instead. If given, `end` (an index) clamps column indices
/// to [0, end].
mlir::Value loadColumns(KernelBuilder &builder, mlir::Value source,
                        mlir::ValueRange indices, const Columns &columns,
                        mlir::Value offset = {}, mlir::Value end = {});

/// Returns the static alignment of rows, 16 or 32 bytes, assuming aligned data.
/// Returns 0 if rows are unaligned, and `dynamic` if their length is dynamic.
int64_t getRowAlignment(mlir::MemRefType type, int64_t dynamic);

/// Returns whether rows of `memref` are aligned to `alignment` bytes.
mlir::Value isAligned(KernelBuilder &builder, mlir::Value memref,
                      int64_t alignment, mlir::Value offset = {});

/// Returns the guaranteed alignment of a load of `count` row elements, in
/// bytes, or 0.
int64_t getLoadAlignment(mlir::MemRefType type, int64_t count);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H
