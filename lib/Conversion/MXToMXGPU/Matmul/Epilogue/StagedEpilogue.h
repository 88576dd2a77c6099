//===- StagedEpilogue.h - Results by way of shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each warp writes columns of its rows to shared memory, from where the copy
// engine stores them, or adds them to the result. It leaves out what lies
// outside the result, or outside the group's matrix of it. Where a group of
// rows ends among those of a warp, it would write the next one's: the threads
// store theirs themselves.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_STAGEDEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_STAGEDEPILOGUE_H

#include "FragmentEpilogue.h"

namespace mx::mxgpu {

class StagedEpilogue final : public FragmentEpilogue {
public:
  StagedEpilogue(ProductKernel &kernel, WorkPolicy &work)
      : FragmentEpilogue(kernel, work) {}

  mlir::Value encodeResult() override;
  void begin() override;

private:
  int64_t getFragmentColumns() override {
    return getStaged().getShape().back();
  }
  bool asksForColumns() override { return elements.region.usesColumns(); }
  mlir::Value finish(mlir::ValueRange parts, ThreadRow &row,
                     const Columns &columns, mlir::Value empty) override;
  void storeRuns(ForEachWorkTileOp unit, llvm::ArrayRef<Run> runs,
                 FragmentType sums, mlir::Value first,
                 mlir::Value empty) override;
  mlir::Value joinRuns(llvm::ArrayRef<Run> runs, FragmentType sums);
  /// Requires that `rest`, of a division by 16 bytes, is 0.
  void requireNoRest(mlir::Value rest, llvm::StringRef what);
  /// What a warp stages at a time.
  BufferType getStaged() const {
    return product.buffers.staging.getBuffers().front();
  }

  mlir::Value staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_STAGEDEPILOGUE_H
