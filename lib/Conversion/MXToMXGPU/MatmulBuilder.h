//===- MatmulBuilder.h - Builds the kernel of one matmul --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread loads tiles and scales by bulk tensor copies, one issues scale
// copies and MMAs, four warps move finished accumulators out. Two rings join
// them. Each role is built in a file of its own; what they share is here.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H

#include "EpilogueRegion.h"
#include "KernelBuilder.h"
#include "mx/Support/ScaleLayout.h"

namespace mx::mxgpu {

/// Says at `op` what kernels support where it asks for more.
llvm::LogicalResult verifyMatmulSupport(MatmulOp op);
/// The same for a schedule of `op`, which itself is supported.
llvm::LogicalResult verifyScheduleSupport(MatmulOp op, ScheduleAttr schedule,
                                          const target::TargetInfo &target);

class MatmulBuilder {
public:
  MatmulBuilder(MatmulOp op, mlir::gpu::GPUModuleOp module,
                ScheduleAttr schedule)
      : op(op), module(module), schedule(schedule), host(op.getLoc(), op),
        body(op.getLoc(), op), region(op.getEpilogueBlock()) {}

  void build();

private:
  // Host side (MatmulHost.cpp).
  void checkSizes();
  mlir::Value encodeOperand(mlir::Value operand, int64_t rows);
  mlir::Value encodeScales(mlir::Value scales, int64_t rows);
  mlir::Value encodeResult();

  // The kernel (MatmulKernel.cpp).
  void buildKernel(mlir::TypeRange arguments);
  RingType getInputRingType();
  RingType getAccumulatorRingType();
  RingType getStagingRingType();
  RingType getUnitRingType();

  void buildSchedule(mlir::Value units);

  // Its roles (MatmulLoad.cpp, MatmulMma.cpp, MatmulEpilogue.cpp).
  void buildLoad();
  void buildMma();
  void buildEpilogue();

  // Parts of the epilogue (MatmulEpilogue.cpp).
  struct Row {
    /// The thread's row, and the nearest that exists.
    mlir::Value own, clamped;
    mlir::Value isPresent;
  };
  Row getEpilogueRow(ForEachWorkOp unit);
  mlir::Value isWhole(ForEachWorkOp unit, mlir::Value empty);
  int64_t getFragmentColumns();
  mlir::Value finish(mlir::Value sums, const Row &row, const Columns &columns,
                     mlir::Value empty);
  void storeColumns(ForEachWorkOp unit, mlir::Value slot, mlir::Value empty,
                    const Row &row, bool whole, int64_t begin, int64_t end);
  void stage(ForEachWorkOp unit, mlir::Value finished, mlir::Value column,
             mlir::Value empty);
  bool isStaged() const { return schedule.getEpilogue() == Epilogue::TmaStore; }

  mlir::Value getOut() { return op.getOuts().front(); }
  /// An argument of the kernel.
  mlir::Value getMap(unsigned index) {
    return kernel.getBody().getArgument(index);
  }
  /// Whether a unit has nothing to multiply.
  mlir::Value isEmpty(ForEachWorkOp unit);

  /// Elements of the reduction that share a scale, and that a scale tile
  /// covers.
  static constexpr int64_t kBlock = 32, kScaleTileK = kScaleTileBlocks * kBlock;
  /// A warp reads the lanes of its quarter of tensor memory.
  static constexpr int64_t kEpilogueWarps = 4;

  MatmulOp op;
  mlir::gpu::GPUModuleOp module;
  ScheduleAttr schedule;
  KernelBuilder host, body;
  KernelOp kernel;
  /// The result as an argument of the kernel.
  mlir::Value result;
  EpilogueRegion region;
  /// The kernel's first argument for alpha and values that the region captures.
  unsigned firstCapture = 0;
  /// The factor of the sums in the kernel, if the operation has one.
  mlir::Value alpha;
  mlir::Value work, inputs, accumulators;
  /// The result's tensor map and the rows on their way to it, of an epilogue
  /// that stores through shared memory.
  mlir::Value resultMap, staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H
