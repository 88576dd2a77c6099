//===- RingTypes.h - Types of a matmul's rings ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types common to the rings of several strategies.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_RINGTYPES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_RINGTYPES_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"

namespace mx::mxgpu {

struct RingTypes {
  RingTypes(const MatmulProblem &problem, const ScheduleFields &fields);

  const MatmulProblem &problem;
  const ScheduleFields &fields;
  mlir::MLIRContext *context;
  int64_t ctas;
  Scope scope;
  int64_t tileM, tileN, tileK;

  /// Returns the swizzle that spans `bytes` bytes, or none.
  static Swizzle getSwizzle(int64_t bytes);

  struct Side {
    AsyncKind kind;
    int64_t threads = 1;
  };
  RingType getRing(int64_t stages, llvm::ArrayRef<llvm::StringRef> names,
                   llvm::ArrayRef<BufferType> buffers, Side producer,
                   Side consumer, Scope scope, int64_t overlap = 0) const;

  /// Returns a buffer that threads read, with narrow elements as bytes. Rows
  /// read by single threads are swizzled. Rows shared by adjacent threads need
  /// no swizzle.
  BufferType getBytes(int64_t rows, mlir::Type type, bool isSwizzled) const;
  /// Returns a buffer of bf16 or f16 elements for the tensor core. Rows are as
  /// long as the widest swizzle, and a longer reduction uses several panels.
  BufferType getDense(int64_t rows, bool isF16 = false) const;

  /// Returns a buffer of whole scale tiles for `rows` rows. A tile is stored as
  /// two rows of 256 bytes, the maximum extent of a box.
  BufferType getScales(int64_t rows) const;
  int64_t getScaleTiles() const;

  /// Ring of loaded bf16 A or B for `threads` wgmma threads.
  RingType getDenseInputs(int64_t threads) const;
  RingType getDenseBInputs(int64_t threads) const;
  /// Ring of a CTA's A or B and scales for `threads` dequantizing threads.
  RingType getAInputs(int64_t threads) const;
  RingType getBInputs(int64_t threads) const;
  /// Returns the ring of dequantized rows for the tensor core.
  RingType getOperands(int64_t stages, int64_t threads, Side consumer,
                       bool isF16 = false) const;
  /// Ring of accumulators in tensor memory, and their fragment in the epilogue.
  RingType getAccumulators(int64_t stages, int64_t overlap = 0) const;
  FragmentLayoutAttr getTmemAccumulator() const;

  /// Sets the accumulator fragment and the rings for bulk stores and for work
  /// tiles, or leaves them null. With `joins`, a bulk store contains a tile's
  /// columns if memory permits, unless only a class of elements is stored.
  void addEpilogue(MatmulBuffers &buffers, FragmentLayoutAttr accumulator,
                   int64_t warps, bool joins = false) const;

private:
  /// Returns the staging ring. Split reductions stage f32 accumulators.
  RingType getStaging(FragmentLayoutAttr accumulator, bool joins) const;
  RingType getWorkTiles() const;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_RINGTYPES_H
