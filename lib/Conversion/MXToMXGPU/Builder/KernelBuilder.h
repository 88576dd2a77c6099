//===- KernelBuilder.h - What the builders of kernels share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A builder for kernels and the host code that launches them: views, addresses,
// allocation and clearing of memrefs on the host, loads of consecutive columns
// in kernels.
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

  /// Tiles that suffice for the rows of all expert groups, whatever their
  /// sizes, if each is given whole ones.
  mlir::Value packedTiles(mlir::Value rows, int64_t tile, mlir::Value offsets);
  /// Size of a dimension: a constant where the type knows it.
  mlir::Value dim(mlir::Value memref, int64_t dim);

  /// The insertion point moves into a branch that runs if `condition` holds.
  void beginIf(mlir::Value condition);

  /// A kernel with an empty body and `arguments`, in the module's gpu.module;
  /// the builder's insertion point does not move. Its name begins with that of
  /// the function around it and `what` it does.
  KernelOp kernel(mlir::gpu::GPUModuleOp module, llvm::StringRef what,
                  mlir::TypeRange arguments, ScheduleAttr schedule = {});
  /// Launches `kernel` with one CTA for each work tile, but no more than
  /// the device runs at once where the kernel fills an SM.
  void launch(KernelOp kernel, mlir::Value grid, mlir::ValueRange arguments);

  /// A ring whose place in memory is not chosen yet.
  mlir::Value ring(RingType type, llvm::StringRef name);
  /// Operations with one block as a body; the insertion point moves into it.
  RoleOp role(llvm::StringRef name, int64_t warps, bool elected,
              bool onLeader = false);
  /// Numbers of this thread's warp within its role, and of its lane.
  std::pair<mlir::Value, mlir::Value> warpAndLane();
  /// The largest of an unsigned number (i32) that each lane of a warp has.
  mlir::Value warpMax(mlir::Value value) {
    return mlir::gpu::SubgroupReduceOp::create(
        *this, value, mlir::gpu::AllReduceOperation::MAXUI, /*uniform=*/true);
  }
  /// If work tiles come through a ring, the end of the body goes on to the next
  /// one.
  ForEachWorkTileOp forEachWorkTile(mlir::Value work);
  /// Its body yields the carried values as they are until told otherwise.
  ForEachKOp forEachK(mlir::Value start, mlir::Value end, int64_t step,
                      mlir::ValueRange initial = {});
};

/// The module's gpu.module for `target`, made at first use.
mlir::gpu::GPUModuleOp getKernelModule(mlir::ModuleOp module,
                                       const target::TargetInfo &target);

/// Returns the address of the first element of a memref or of a view of one.
mlir::Value getAddress(KernelBuilder &host, mlir::Value memref);

/// Returns the bytes that mx-store-as-bytes makes of elements of 4 and 6 bits.
mlir::Value toBytes(KernelBuilder &host, mlir::Value elements);
/// Returns a contiguous memref as a matrix of one row.
mlir::Value toRow(KernelBuilder &host, mlir::Value memref);
/// Returns a memref with its first `count` dimensions collapsed into one; with
/// a count below 2 the memref itself.
mlir::Value collapseLeading(KernelBuilder &host, mlir::Value memref,
                            int64_t count);

/// Writes zeros over a whole memref, before later operations.
void clearMemory(KernelBuilder &host, mlir::Value memref);
/// Allocates a list of `size` i32; the caller frees it.
mlir::Value allocateList(KernelBuilder &host, mlir::Value size);

// A thread of a kernel holds consecutive columns of one row of a matrix. The
// width of its loads depends on the alignment of rows.

/// Consecutive columns of a matrix that one thread has in hand.
struct Columns {
  mlir::Value first;
  int64_t count;
  /// The last column that exists. Null: all of them do, and vectors of the
  /// memory that is read start where `isAligned` holds.
  mlir::Value last;
  /// Whether the thread's row exists; null if it does.
  mlir::Value isPresent;

  /// Whether all of them exist.
  bool areWhole() const;
};

/// Reads the elements of `source` in a row, given by its leading `indices`, at
/// `columns` plus `offset` (index; null for none). A column that does not exist
/// gives the element of the last that does. Of a row that does not, nothing is
/// read: the row that stands for it may belong to another thread, which writes
/// it. With `end` (index) a place before column 0 counts as 0, and one after
/// `end` as `end`.
mlir::Value loadColumns(KernelBuilder &builder, mlir::Value source,
                        mlir::ValueRange indices, const Columns &columns,
                        mlir::Value offset = {}, mlir::Value end = {});

/// The bytes, 16 or 32, at a multiple of which every row of a matrix starts if
/// its data do, as far as the type says; 0 if rows do not. Rows of unknown
/// length give `dynamic`.
int64_t getRowAlignment(mlir::MemRefType type, int64_t dynamic);

/// Whether rows of `memref` start at multiples of `alignment` bytes.
mlir::Value isAligned(KernelBuilder &builder, mlir::Value memref,
                      int64_t alignment, mlir::Value offset = {});

/// Bytes that one load of `count` elements of a row can rely on; 0: none.
int64_t getLoadAlignment(mlir::MemRefType type, int64_t count);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H
