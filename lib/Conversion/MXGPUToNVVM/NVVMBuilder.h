//===- NVVMBuilder.h - Every NVVM instruction that mx emits -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The spelling of NVVM operations moves between LLVM releases. It stands here
// alone; lowering patterns say what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NVVMBUILDER_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NVVMBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mx::mxgpu {

/// Builds instructions at one location. Shared-memory addresses are
/// `!llvm.ptr<3>`, addresses in tensor memory and counts are i32.
class NVVMBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value i1(bool value);
  mlir::Value i32(int64_t value);
  mlir::Value i64(uint64_t value);
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// Any integer or index as i32.
  mlir::Value toI32(mlir::Value value);

  /// Start of the kernel's dynamic shared memory plus `offset` bytes.
  mlir::Value shared(mlir::Value offset);
  mlir::Value shared(int64_t offset);
  /// The 32-bit address of a shared-memory pointer.
  mlir::Value sharedAddress(mlir::Value pointer);

  // Threads.
  mlir::Value threadId();
  mlir::Value ctaId();
  mlir::Value ctaCount();
  mlir::Value electOne();
  void syncCta();
  void syncWarp();

  // mbarrier (PTX ISA, Parallel Synchronization and Communication
  // Instructions: mbarrier).
  void initBarrier(mlir::Value barrier, int64_t count);
  void fenceBarrierInit();
  void arrive(mlir::Value barrier);
  void arriveExpectBytes(mlir::Value barrier, int64_t bytes);
  /// Spins until the phase of the given parity has completed.
  void wait(mlir::Value barrier, mlir::Value parity);

  // Bulk tensor copies. `coords` are i32, innermost first.
  void prefetchTensorMap(mlir::Value map);
  void loadTensor(mlir::Value dest, mlir::Value map,
                  llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier);

  // tcgen05 (PTX ISA, TensorCore 5th Generation Family Instructions).
  void allocTensorMemory(mlir::Value slot, int64_t columns);
  void freeTensorMemory(mlir::Value address, int64_t columns);
  void fenceBeforeSync();
  void fenceAfterSync();
  /// Copies one tile of 128 x 4 scales to 4 columns.
  void copyScaleTile(mlir::Value address, mlir::Value descriptor);
  void mmaMXF8(mlir::Value d, mlir::Value a, mlir::Value b, uint32_t idesc,
               mlir::Value accumulate, mlir::Value aScales,
               mlir::Value bScales);
  void commit(mlir::Value barrier);
  /// Loads `columns` columns of this warp's 32 lanes, one lane a thread, and
  /// waits; the result cannot be used before the wait.
  mlir::Value loadTensorMemory(mlir::Value address, int64_t columns);

  // Conversions; `hi` becomes the upper byte of the i16.
  mlir::Value convertToE4M3(mlir::Value hi, mlir::Value lo);
  mlir::Value convertToE8M0Up(mlir::Value hi, mlir::Value lo);

private:
  mlir::Value tensorPointer(mlir::Value address);
};

/// Name of the global that stands for dynamic shared memory.
inline constexpr llvm::StringLiteral kDynamicSharedName = "mx_dynamic_shared";

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NVVMBUILDER_H
