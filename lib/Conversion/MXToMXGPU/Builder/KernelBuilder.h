//===- KernelBuilder.h - What the builders of kernels share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A builder for kernels and the host code that launches them.
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

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_KERNELBUILDER_H
