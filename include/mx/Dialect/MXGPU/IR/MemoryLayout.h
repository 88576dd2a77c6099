//===- MemoryLayout.h - Memory layout of kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Layout of shared and tensor memory, computed from the types of rings and
// scales. Passes take them from a kernel. The schedule planner computes the
// layout before the kernel exists.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
#define MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Entry of a memory: `count` objects of `size` bytes or columns. The name
/// fields reference names of rings and fields.
struct MemoryItem {
  llvm::StringRef what, ring, field;
  int64_t count, size;
  int64_t offset = 0;
  /// Bytes or columns shared by neighbors (overlapping accumulators).
  int64_t shared = 0;
  /// True for all stages of a ring but the first.
  bool isRest = false;

  /// Returns the bytes or columns of all objects.
  int64_t getTotal() const;
  /// Returns a name such as "in.a", "barriers of in" or "scales sfa".
  std::string getName() const;
  /// Returns a description such as "4 more stages of in" or "2 stages of
  /// acc.d".
  std::string describe() const;
};

/// Memory allocated from its start.
class Memory {
public:
  /// Appends an aligned item and returns its offset.
  int64_t take(MemoryItem item, int64_t alignment = 1);

  llvm::ArrayRef<MemoryItem> getItems() const;
  /// Allocated bytes or columns.
  int64_t getUsed() const;

private:
  llvm::SmallVector<MemoryItem, 12> items;
  int64_t used = 0;
};

/// Ring to be placed. `copies` is the number of warps if each warp has private
/// stages, or 1.
struct RingRequest {
  llvm::StringRef name;
  RingType type;
  int64_t copies = 1;
};

/// Scales of a stage field in `slots` locations.
struct ScalesRequest {
  llvm::StringRef field;
  ScalesType type;
  int64_t slots = 1;
};

/// Location of a ring: field offsets of the first stage, offset of the first
/// stage's barriers (if any), and bytes between stages.
struct RingPlace {
  llvm::SmallVector<int64_t> offsets;
  std::optional<int64_t> barriers;
  int64_t stride = 0;
};

/// Returns true if the barriers follow the stages instead of being part of
/// them. Stages of asynchronous instructions of threads are large multiples of
/// the swizzle, so barriers inside would add a whole swizzle to each stage and
/// could cost a stage.
bool hasBarriersBehind(RingType type);
/// Returns the right shift that turns `stride` into the bytes between such
/// barriers.
int64_t getBarrierShift(int64_t stride);

/// Memory layout of a CTA.
struct MemoryLayout {
  /// Shared memory contains rings, then the barriers of rings in tensor memory
  /// and a partial accumulator. Tensor memory contains rings, then scales.
  MemoryLayout(llvm::ArrayRef<RingRequest> rings,
               llvm::ArrayRef<ScalesRequest> scales, int64_t partialBytes = 0);

  Memory smem, tmem;
  llvm::SmallVector<RingPlace> rings;
  /// First columns of the scales.
  llvm::SmallVector<int64_t> scales;
  /// Offset of the address of tensor memory, if any is allocated.
  std::optional<int64_t> tmemSlot;
  /// Offset of the partial accumulator.
  int64_t partials = 0;

private:
  RingPlace placeSlots(const RingRequest &ring);
  RingPlace placeColumns(const RingRequest &ring);
};

/// Memory layout of a kernel with rings.
struct KernelMemory {
  /// Rings in kernel order.
  MemoryLayout layout;
  /// First columns of each mxgpu.copy_scales of a stage.
  llvm::DenseMap<mlir::Operation *, int64_t> columns;
};

/// Computes the layout of a kernel with rings, without checking limits.
KernelMemory placeMemory(KernelOp kernel);

/// Returns the shared memory of a CTA in bytes, for a kernel with rings.
int64_t getSharedBytes(KernelOp kernel);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
