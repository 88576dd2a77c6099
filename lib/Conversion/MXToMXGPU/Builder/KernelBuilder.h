//===- KernelBuilder.h - Utilities for building kernels ------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Builder of kernels and of the host code that launches them: views, addresses,
// allocation and clearing of memrefs on the host, and loads of consecutive
// columns in kernels.
//
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

  /// Returns an upper bound of the tiles of all expert groups if each starts a
  /// new tile, independent of the group sizes.
  mlir::Value packedTiles(mlir::Value rows, int64_t tile, mlir::Value offsets);
  /// Returns the size of a dimension, as a constant if it is static.
  mlir::Value dim(mlir::Value memref, int64_t dim);

  /// Creates a branch on `condition` and moves the insertion point into it.
  void beginIf(mlir::Value condition);

  /// Creates an empty kernel in the module's gpu.module without moving the
  /// insertion point. Its name is the enclosing function's name followed by
  /// `what`.
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
  /// Creates a loop over work tiles. A loop fed by a ring advances to the next
  /// work tile at the end of its body.
  ForEachWorkTileOp forEachWorkTile(mlir::Value work);
  /// Creates a K loop whose body yields the carried values unchanged by
  /// default.
  ForEachKOp forEachK(mlir::Value start, mlir::Value end, int64_t step,
                      mlir::ValueRange initial = {});
};

/// Returns the module's gpu.module for `target`, creating it on first use.
mlir::gpu::GPUModuleOp getKernelModule(mlir::ModuleOp module,
                                       const target::TargetInfo &target);

/// Returns the address of the first element of a memref or of a view of one.
mlir::Value getAddress(KernelBuilder &host, mlir::Value memref);

/// Converts elements of 4 and 6 bits to the bytes of mx-store-as-bytes.
mlir::Value toBytes(KernelBuilder &host, mlir::Value elements);
/// Returns a contiguous memref as a matrix of one row.
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

/// Consecutive columns of a matrix processed by a thread.
struct Columns {
  mlir::Value first;
  int64_t count;
  /// The last existing column. Null if all columns exist and `isAligned` holds
  /// for the vectors that are read.
  mlir::Value last;
  /// Whether the thread's row exists; null if it always does.
  mlir::Value isPresent;

  /// Returns true if all columns exist.
  bool areWhole() const;
};

/// Reads a row of `source`, given by its leading `indices`, at `columns` plus
/// `offset` (index; null for none). Missing columns repeat the last one.
/// Missing rows are not read, because another thread may write the row that
/// replaces them. With `end` (index), column indices are clamped to [0, end].
mlir::Value loadColumns(KernelBuilder &builder, mlir::Value source,
                        mlir::ValueRange indices, const Columns &columns,
                        mlir::Value offset = {}, mlir::Value end = {});

/// Returns the static alignment of rows, 16 or 32 bytes, assuming aligned data;
/// 0 if rows are unaligned. Rows of dynamic length return `dynamic`.
int64_t getRowAlignment(mlir::MemRefType type, int64_t dynamic);

/// Returns whether rows of `memref` are aligned to `alignment` bytes.
mlir::Value isAligned(KernelBuilder &builder, mlir::Value memref,
                      int64_t alignment, mlir::Value offset = {});

/// Returns the guaranteed alignment of a load of `count` row elements, in
/// bytes, or 0.
int64_t getLoadAlignment(mlir::MemRefType type, int64_t count);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H
