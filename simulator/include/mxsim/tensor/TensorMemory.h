//===- TensorMemory.h - tensor memory of one SM ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 128 lanes x 512 columns x 32 bits, who owns which columns, and which cells
// have been written. Fresh cells are undefined on hardware; here they are
// marked, and reading one is reported.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_TENSORMEMORY_H
#define MXSIM_TENSOR_TENSORMEMORY_H

#include "mxsim/tensor/Fault.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mx::sim {

constexpr unsigned tmemLanes = 128;
constexpr unsigned tmemColumns = 512;

/// taddr = lane << 16 | column (PTX ISA, tensor memory addressing).
constexpr uint32_t tmemAddress(unsigned lane, unsigned column) {
  return lane << 16 | column;
}
constexpr unsigned tmemLane(uint32_t address) { return address >> 16; }
constexpr unsigned tmemColumn(uint32_t address) { return address & 0xFFFF; }

enum class TmemShape { L32x32b, L16x64b, L16x128b, L16x256b, L16x32bx2 };
bool parseTmemShape(std::string_view name, TmemShape &shape);

/// One tcgen05.ld or tcgen05.st of a warp.
struct TmemTransfer {
  TmemShape shape = TmemShape::L32x32b;
  /// The N of .xN.
  unsigned repeat = 1;
  /// .pack::16b of ld, .unpack::16b of st.
  bool pack16 = false;
  /// immHalfSplitoff of 16x32bx2, in columns.
  unsigned splitOffset = 0;
  uint32_t address = 0;
  /// Warp number within the CTA; lanes 32 * (warp % 4) .. + 31 are reachable.
  unsigned warp = 0;

  /// Registers per thread; 0 when the shape has no such repeat.
  unsigned registers() const;
};

/// Told about every rectangle of tensor memory that an operation touches, for
/// the check of their order.
class TensorObserver {
public:
  virtual ~TensorObserver() = default;
  virtual void access(unsigned lane, unsigned lanes, unsigned column,
                      unsigned columns, bool isWrite) = 0;
};

class TensorMemory {
public:
  struct Allocation {
    uint32_t owner;
    unsigned column;
    unsigned columns;
  };
  enum class AllocStatus { Done, Blocked, Rejected };
  struct AllocResult {
    AllocStatus status = AllocStatus::Rejected;
    unsigned column = 0;
    Fault fault;
  };

  TensorMemory();

  // Allocation. `owner` names a CTA; CTAs on one SM share the columns.

  /// tcgen05.alloc.cta_group::1. Blocked: the columns are not free now.
  AllocResult allocate(uint32_t owner, uint32_t columns);
  /// tcgen05.alloc.cta_group::2, once both CTAs have come: the same columns
  /// in both memories.
  static AllocResult allocatePair(TensorMemory &first, uint32_t firstOwner,
                                  TensorMemory &second, uint32_t secondOwner,
                                  uint32_t columns);
  /// tcgen05.dealloc: exactly what one alloc returned. Of another number of
  /// columns it frees what was allocated at `address`, if anything. Cells keep
  /// their contents until the columns are allocated again.
  Fault deallocate(uint32_t owner, uint32_t address, uint32_t columns);
  Fault relinquish(uint32_t owner);
  /// What `owner` has not freed.
  std::vector<Allocation> allocations(uint32_t owner) const;
  /// Frees everything of a CTA that has ended and forgets it.
  void release(uint32_t owner);

  // Access.

  /// Faults when the rectangle leaves the tensor memory or the columns that
  /// `owner` holds. `what` begins the message ("accumulator"). A legal access
  /// is told to the observer of `owner`; one to columns that `owner` has freed
  /// and nothing else holds is legal too, and takeLateUse() returns its fault.
  Fault checkAccess(uint32_t owner, unsigned lane, unsigned lanes,
                    unsigned column, unsigned columns, std::string_view what,
                    bool isWrite = false) const;
  /// The same for rows that lie in lanes base + laneOf(row).
  Fault checkRows(uint32_t owner, unsigned base, unsigned (*laneOf)(unsigned),
                  unsigned rows, unsigned column, unsigned columns,
                  std::string_view what, bool isWrite) const;
  /// What was wrong with the last access to freed columns; none after that.
  Fault takeLateUse() { return std::exchange(lateUse, Fault()); }
  /// Who is told of the accesses of `owner`; release() forgets it.
  void observe(uint32_t owner, TensorObserver *observer);
  uint32_t *row(unsigned lane) { return &cells[lane * tmemColumns]; }
  const uint32_t *row(unsigned lane) const {
    return &cells[lane * tmemColumns];
  }
  /// True when all cells of the range have been written.
  bool isDefined(unsigned lane, unsigned column, unsigned columns) const;
  void define(unsigned lane, unsigned column, unsigned columns);
  void undefine(unsigned lane, unsigned column, unsigned columns);

  /// tcgen05.ld / .st of a whole warp. registers[r * 32 + thread].
  /// An Uninitialized fault leaves the load done.
  Fault load(uint32_t owner, const TmemTransfer &transfer,
             uint32_t *registers) const;

  /// The threads of which a load, which has had such a fault, has found cells
  /// of register `reg` unwritten; and the lane and the column of the first.
  uint32_t undefinedThreads(const TmemTransfer &transfer, unsigned reg,
                            unsigned &lane, unsigned &column) const;

  Fault store(uint32_t owner, const TmemTransfer &transfer,
              const uint32_t *registers);

private:
  struct OwnerState {
    uint32_t owner;
    unsigned lastColumns;
    bool relinquished;
  };
  Fault checkAllocate(uint32_t owner, uint32_t columns) const;
  bool isFree(unsigned column, unsigned columns) const;
  void take(uint32_t owner, unsigned column, unsigned columns);
  OwnerState &state(uint32_t owner);
  const OwnerState *findState(uint32_t owner) const;

  static constexpr unsigned wordsPerLane = tmemColumns / 64;
  std::vector<uint32_t> cells;
  std::array<uint64_t, tmemLanes * wordsPerLane> defined{};
  std::vector<Allocation> live;
  /// Freed by CTAs that run, and not allocated again.
  std::vector<Allocation> freed;
  mutable Fault lateUse;
  std::vector<OwnerState> owners;
  std::vector<std::pair<uint32_t, TensorObserver *>> observers;
  bool isHeld(uint32_t owner, unsigned column, unsigned columns, bool orWasHeld,
              unsigned &missing) const;
};

} // namespace mx::sim

#endif // MXSIM_TENSOR_TENSORMEMORY_H
