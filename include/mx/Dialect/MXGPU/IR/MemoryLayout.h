//===- MemoryLayout.h - Memory layout of kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout of shared and tensor memory, computed from the types of rings and
// scales. Passes read these types from a kernel. The schedule planner computes
// the layout before the kernel exists.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
#define MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Entry of a memory: `count` objects of `size` bytes or columns each. The
/// string fields refer to names that rings and their fields own.
struct MemoryItem {
  llvm::StringRef what, ring, field;
  int64_t count, size;
  int64_t offset = 0;
  /// Bytes or columns shared by neighbors (overlapping accumulators).
  int64_t shared = 0;
  /// True for all stages of a ring but the first.
  bool isRest = false;

  int64_t getTotal() const;
  /// Returns a name such as "in.a", "barriers of in" or "scales sfa".
  std::string getName() const;
  /// Returns a description such as "4 more stages of in".
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

/// Request to place a ring. `copies` is the number of warps with private
/// stages, or 1.
struct RingRequest {
  llvm::StringRef name;
  RingType type;
  int64_t copies = 1;
};

/// Request to place the scales of a stage field in `slots` locations.
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

/// Returns true if the barriers follow all stages instead of being part of each
/// stage. The size of a stage that threads read with asynchronous instructions
/// is a large multiple of the swizzle. A barrier inside such a stage would
/// enlarge the stage by a whole period of the swizzle, so fewer stages might
/// fit.
bool hasBarriersBehind(RingType type);
/// Returns the right shift that converts `stride` to the distance in bytes
/// between the barriers of successive stages, if the barriers follow all
/// stages.
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
  /// Offset in shared memory of the tensor memory address, if tensor memory is
  /// allocated.
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
  /// First column of the scales that each mxgpu.copy_scales writes.
  llvm::DenseMap<mlir::Operation *, int64_t> columns;
};

/// Computes the layout of a kernel with rings, without checking limits.
KernelMemory placeMemory(KernelOp kernel);

/// Returns the shared memory of a CTA in bytes, for a kernel with rings.
int64_t getSharedBytes(KernelOp kernel);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
