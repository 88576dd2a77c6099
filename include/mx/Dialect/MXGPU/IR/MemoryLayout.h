//===- MemoryLayout.h - Where a kernel's buffers lie ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layout of shared and tensor memory follows from the types of a kernel's
// rings and scales. Passes read them from the finished kernel; the planner of
// schedules has the types before there is one.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
#define MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// One entry of a memory: `count` things of `size` bytes or columns. Names are
/// those of rings and fields, and are not copied.
struct MemoryItem {
  llvm::StringRef what, ring, field;
  int64_t count, size;
  int64_t offset = 0;
  /// What neighbours of the things share (overlapped accumulators).
  int64_t shared = 0;
  /// Whether these are the stages of a ring after the first.
  bool isRest = false;

  /// Bytes or columns of all things.
  int64_t getTotal() const;
  /// "in.a", "barriers of in", "scales sfa".
  std::string getName() const;
  /// The same, "4 more stages of in", "2 stages of acc.d".
  std::string describe() const;
};

/// One memory, filled from its start.
class Memory {
public:
  /// Takes what comes next, aligned; returns where it begins.
  int64_t take(MemoryItem item, int64_t alignment = 1);

  llvm::ArrayRef<MemoryItem> getItems() const;
  /// Bytes or columns.
  int64_t getUsed() const;

private:
  llvm::SmallVector<MemoryItem, 12> items;
  int64_t used = 0;
};

/// A ring to be placed. Its stages are there `copies` times: once for each warp
/// that uses them if they are a warp's own.
struct RingRequest {
  llvm::StringRef name;
  RingType type;
  int64_t copies = 1;
};

/// Scales of one field of a stage, in as many places.
struct ScalesRequest {
  llvm::StringRef field;
  ScalesType type;
  int64_t slots = 1;
};

/// The place of a ring: offsets of the fields of its first stage, bytes where
/// the barriers of that lie, if it has any, and bytes to the next stage.
struct RingPlace {
  llvm::SmallVector<int64_t> offsets;
  std::optional<int64_t> barriers;
  int64_t stride = 0;
};

/// Whether the barriers of a ring follow its stages and are not in them: stages
/// that asynchronous instructions of threads read where copies put them are
/// large and of whole swizzles, of which one more for each stage's barriers
/// would be a stage less.
bool hasBarriersBehind(RingType type);
/// Bytes between the barriers of such stages: what lies so many bits below the
/// stages' own stride, so that a shift gives it.
int64_t getBarrierShift(int64_t stride);

/// The memories of a CTA.
struct MemoryLayout {
  /// Rings lie in their order, then the barriers of those in tensor memory, and
  /// a partial accumulator of a cluster; scales follow the rings there.
  MemoryLayout(llvm::ArrayRef<RingRequest> rings,
               llvm::ArrayRef<ScalesRequest> scales, int64_t partialBytes = 0);

  Memory smem, tmem;
  llvm::SmallVector<RingPlace> rings;
  /// First columns.
  llvm::SmallVector<int64_t> scales;
  /// Bytes where the address of tensor memory lies, if there is any.
  std::optional<int64_t> tmemSlot;
  /// Where the partial accumulator begins.
  int64_t partials = 0;

private:
  RingPlace placeSlots(const RingRequest &ring);
  RingPlace placeColumns(const RingRequest &ring);
};

/// The memories of the CTAs of a kernel with rings.
struct KernelMemory {
  /// Rings in their order in the kernel.
  MemoryLayout layout;
  /// First columns of each mxgpu.copy_scales that reads a stage of a ring.
  llvm::DenseMap<mlir::Operation *, int64_t> columns;
};

/// Places the memory of a kernel with rings, whether it fits or not.
KernelMemory placeMemory(KernelOp kernel);

/// Bytes of shared memory of a CTA of a kernel with rings.
int64_t getSharedBytes(KernelOp kernel);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MEMORYLAYOUT_H
