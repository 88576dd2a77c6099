//===- MemoryLayout.cpp - Addresses of a kernel's buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates shared and tensor memory from the start, in the order documented in
// MemoryLayout.h.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Target/TensorMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Size of a stage's full and empty barriers.
static constexpr int64_t kBarrierBytes = 2 * target::kMBarrierBytes;
static constexpr llvm::StringLiteral kBarriersOf = "barriers of ";

int64_t MemoryItem::getTotal() const {
  return count * size - (count - 1) * shared;
}

std::string MemoryItem::getName() const {
  llvm::StringRef dot = field.empty() || ring.empty() ? "" : ".";
  return (what + ring + dot + field).str();
}

std::string MemoryItem::describe() const {
  if (isRest)
    return llvm::formatv("{0} more stages of {1}", count, getName());
  if (count == 1)
    return getName();
  std::string text = llvm::formatv("{0} stages of {1}", count, getName());
  if (shared)
    text += llvm::formatv(" overlapped by {0}", shared);
  return text;
}

ArrayRef<MemoryItem> Memory::getItems() const { return items; }

int64_t Memory::getUsed() const { return used; }

int64_t Memory::take(MemoryItem item, int64_t alignment) {
  item.offset = llvm::alignTo(used, alignment);
  used = item.offset + item.getTotal();
  items.push_back(std::move(item));
  return items.back().offset;
}

/// Returns the alignment of a buffer. A swizzled buffer starts at a multiple of
/// 8 rows (PTX ISA, shared memory matrix descriptor: base offset 0).
static int64_t getAlignment(BufferType buffer) {
  return std::max<int64_t>(8 * static_cast<int64_t>(buffer.getSwizzle()),
                           target::kTmaSmemAlignment);
}

bool mx::mxgpu::hasBarriersBehind(RingType type) {
  return type.getProducer() == AsyncKind::BulkCopy &&
         type.getConsumer() == AsyncKind::AsyncThreads;
}

/// The two barriers of a stage are aligned to 8 bytes.
int64_t mx::mxgpu::getBarrierShift(int64_t stride) {
  unsigned zeros = llvm::countr_zero(static_cast<uint64_t>(stride));
  bool isPower = stride >> zeros == 1;
  return zeros -
         llvm::Log2_64(isPower ? kBarrierBytes : target::kMBarrierBytes);
}

/// Places stages consecutively, with constant offsets of fields and barriers.
RingPlace MemoryLayout::placeSlots(const RingRequest &ring) {
  RingPlace place;
  int64_t alignment = target::kMBarrierBytes;
  for (BufferType buffer : ring.type.getBuffers())
    alignment = std::max(alignment, getAlignment(buffer));
  for (auto [name, buffer] :
       llvm::zip_equal(ring.type.getNames(), ring.type.getBuffers()))
    place.offsets.push_back(
        smem.take({"", ring.name, name, 1, buffer.getSizeInBytes()},
                  place.offsets.empty() ? alignment : getAlignment(buffer)));
  // Staging rings need no barriers: the storing thread waits for empty stages.
  bool isBehind = hasBarriersBehind(ring.type);
  if (!ring.type.isStaging() && !isBehind)
    place.barriers = smem.take({kBarriersOf, ring.name, "", 1, kBarrierBytes},
                               target::kMBarrierBytes);
  int64_t stride =
      llvm::alignTo(smem.getUsed() - place.offsets.front(), alignment);
  if (int64_t others = ring.copies * ring.type.getStages() - 1)
    smem.take({"", ring.name, "", others, stride, 0, 0, /*isRest=*/true},
              alignment);
  place.stride = stride;
  if (isBehind)
    place.barriers =
        smem.take({kBarriersOf, ring.name, "", ring.type.getStages(),
                   stride >> getBarrierShift(stride)},
                  target::kMBarrierBytes);
  return place;
}

RingPlace MemoryLayout::placeColumns(const RingRequest &ring) {
  RingPlace place;
  for (auto [name, buffer] :
       llvm::zip_equal(ring.type.getNames(), ring.type.getBuffers()))
    place.offsets.push_back(
        tmem.take({"", ring.name, name, ring.type.getStages(),
                   buffer.getShape()[1], 0, ring.type.getOverlap()}));
  return place;
}

MemoryLayout::MemoryLayout(ArrayRef<RingRequest> ringRequests,
                           ArrayRef<ScalesRequest> scaleRequests,
                           int64_t partialBytes) {
  auto isInTmem = [](const RingRequest &ring) {
    return ring.type.getSpace() == Space::Tmem;
  };
  for (const RingRequest &ring : ringRequests)
    rings.push_back(isInTmem(ring) ? placeColumns(ring) : placeSlots(ring));
  for (auto [ring, place] : llvm::zip_equal(ringRequests, rings))
    if (isInTmem(ring)) {
      place.barriers = smem.take({kBarriersOf, ring.name, "", 1,
                                  ring.type.getStages() * kBarrierBytes},
                                 target::kMBarrierBytes);
      place.stride = kBarrierBytes;
    }
  if (partialBytes)
    partials = smem.take({"partial accumulator", "", "", 1, partialBytes}, 16);
  for (const ScalesRequest &request : scaleRequests)
    scales.push_back(tmem.take({"scales ", "", request.field, request.slots,
                                request.type.getColumns()},
                               target::kScaleColumnsPerGroup));
  if (tmem.getUsed())
    tmemSlot = smem.take({"address of tensor memory", "", "", 1, 4}, 4);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns the number of copies of a ring: the number of warps for rings of
/// warp scope, otherwise 1.
static int64_t getCopies(RingOp ring) {
  if (ring.getType().getScope() == Scope::Warp)
    for (Operation *user : ring.getResult().getUsers())
      if (RoleOp role = getRole(user))
        return role.getWarps();
  return 1;
}

KernelMemory mx::mxgpu::placeMemory(KernelOp kernel) {
  SmallVector<RingRequest> rings;
  for (auto ring : kernel.getBody().getOps<RingOp>())
    rings.push_back({ring.getName(), ring.getType(), getCopies(ring)});
  // Scale copies of the same ring buffer share their columns, because copies
  // and MMAs of a thread execute in order.
  DenseMap<std::tuple<Value, unsigned, Type, int64_t>, size_t> known;
  SmallVector<ScalesRequest> scales;
  DenseMap<Operation *, int64_t> columns;
  int64_t partialBytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto add = dyn_cast<AddPartialsOp>(op))
      partialBytes =
          std::max(partialBytes, getPartialBytesOf(add.getType().getLayout()));
    auto copy = dyn_cast<CopyScalesOp>(op);
    auto wait = copy ? copy.getBuffer().getDefiningOp<ConsumerWaitOp>()
                     : ConsumerWaitOp();
    if (!wait)
      return;
    int64_t places = copy.getStages();
    unsigned number = cast<OpResult>(copy.getBuffer()).getResultNumber();
    auto [it, isNew] = known.try_emplace(
        {wait.getRing(), number, copy.getType(), places}, scales.size());
    if (isNew)
      scales.push_back(
          {getBufferName(copy.getBuffer()), copy.getType(), places});
    columns[copy] = it->second;
  });
  MemoryLayout layout(rings, scales, partialBytes);
  for (auto &[copy, column] : columns)
    column = layout.scales[column];
  return {std::move(layout), std::move(columns)};
}

int64_t mx::mxgpu::getSharedBytes(KernelOp kernel) {
  int64_t most = 0;
  for (KernelOp part : getParts(kernel))
    most = std::max<int64_t>(most, placeMemory(part).layout.smem.getUsed());
  return most;
}
