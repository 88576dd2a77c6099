//===- RingTypes.h - Types of a matmul's rings ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the rings of all strategies have in common.
//
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

  /// The swizzle that is as long as a row, or none if there is no such swizzle.
  static Swizzle getSwizzle(int64_t bytes);

  struct Side {
    AsyncKind kind;
    int64_t threads = 1;
  };
  RingType getRing(int64_t stages, llvm::ArrayRef<llvm::StringRef> names,
                   llvm::ArrayRef<BufferType> buffers, Side producer,
                   Side consumer, Scope scope, int64_t overlap = 0) const;

  /// Elements for threads that read them; those narrower than a byte come as
  /// bytes. Rows that threads read alone are swizzled; a row that adjacent
  /// threads share needs none.
  BufferType getBytes(int64_t rows, mlir::Type type, bool isSwizzled) const;
  /// Rows of bf16, or of f16, as tensor cores read them: as long as the widest
  /// swizzle, panels of them where the reduction is longer.
  BufferType getDense(int64_t rows, bool isF16 = false) const;

  /// Whole scale tiles for so many rows, each as two rows of 256 bytes, the
  /// longest that a box can have.
  BufferType getScales(int64_t rows) const;
  int64_t getScaleTiles() const;

  /// From the loads on, an A, or a B, of bf16 for `threads` that multiply by
  /// wgmma.
  RingType getDenseInputs(int64_t threads) const;
  RingType getDenseBInputs(int64_t threads) const;
  /// From the loads on, the rows of A, or of B, of a CTA and their scales for
  /// `threads` that dequantize them.
  RingType getAInputs(int64_t threads) const;
  RingType getBInputs(int64_t threads) const;
  /// The dequantized rows, for the tensor core, in `stages`.
  RingType getOperands(int64_t stages, int64_t threads, Side consumer,
                       bool isF16 = false) const;
  /// Accumulators in tensor memory on their way to the epilogue, and as it
  /// reads them.
  RingType getAccumulators(int64_t stages, int64_t overlap = 0) const;
  FragmentLayoutAttr getTmemAccumulator() const;

  /// Adds what follows the main loop: how threads hold an accumulator, rows
  /// that a warp stages for bulk stores, if the result is stored so, and the
  /// ring by which a warp passes work tiles to the other roles, if one does.
  void addEpilogue(MatmulBuffers &buffers, FragmentLayoutAttr accumulator,
                   int64_t warps) const;

private:
  /// The accumulators of a split reduction are stored as f32.
  RingType getStaging(FragmentLayoutAttr accumulator) const;
  RingType getWorkTiles() const;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_RINGTYPES_H
