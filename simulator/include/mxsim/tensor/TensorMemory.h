//===- TensorMemory.h - Tensor memory of an SM ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contains 128 lanes x 512 columns of 32-bit cells, the owner of each column,
// and a flag for each written cell. On hardware a cell is undefined until it is
// written, so reads of unwritten cells are faults.
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

/// Returns lane << 16 | column (PTX ISA, tensor memory addressing).
constexpr uint32_t tmemAddress(unsigned lane, unsigned column) {
  return lane << 16 | column;
}
constexpr unsigned tmemLane(uint32_t address) { return address >> 16; }
constexpr unsigned tmemColumn(uint32_t address) { return address & 0xFFFF; }

enum class TmemShape { L32x32b, L16x64b, L16x128b, L16x256b, L16x32bx2 };
bool parseTmemShape(std::string_view name, TmemShape &shape);

/// A tcgen05.ld or tcgen05.st of a warp.
struct TmemTransfer {
  TmemShape shape = TmemShape::L32x32b;
  /// The N of .xN.
  unsigned repeat = 1;
  /// .pack::16b of ld, .unpack::16b of st.
  bool pack16 = false;
  /// immHalfSplitoff of 16x32bx2, in columns.
  unsigned splitOffset = 0;
  uint32_t address = 0;
  /// Warp index in the CTA; lanes 32 * (warp % 4) .. + 31 are accessible.
  unsigned warp = 0;

  /// Returns the registers per thread, or 0 if the repeat is illegal for the
  /// shape.
  unsigned registers() const;
};

/// Observer of every tensor memory rectangle that an operation accesses, for
/// the order checks.
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

  // Allocation. `owner` identifies a CTA; all CTAs on an SM share the columns.

  /// Performs tcgen05.alloc.cta_group::1. Returns Blocked while too few columns
  /// are free.
  AllocResult allocate(uint32_t owner, uint32_t columns);
  /// Performs tcgen05.alloc.cta_group::2 after both CTAs have arrived.
  /// Allocates the same columns in both memories.
  static AllocResult allocatePair(TensorMemory &first, uint32_t firstOwner,
                                  TensorMemory &second, uint32_t secondOwner,
                                  uint32_t columns);
  /// Performs tcgen05.dealloc, which must match one allocation. If `columns` is
  /// wrong, frees the allocation at `address`, if any. Cells keep their
  /// contents until the columns are allocated again.
  Fault deallocate(uint32_t owner, uint32_t address, uint32_t columns);
  Fault relinquish(uint32_t owner);
  /// Returns the live allocations of `owner`.
  std::vector<Allocation> allocations(uint32_t owner) const;
  /// Frees all columns of a finished CTA and discards its state.
  void release(uint32_t owner);

  // Access.

  /// Faults if the rectangle exceeds the tensor memory or the columns of
  /// `owner`. `what` starts the message ("accumulator"). Reports legal accesses
  /// to the observer of `owner`. An access to freed columns that no CTA has
  /// reallocated is legal too; takeLateUse() then returns the fault.
  Fault checkAccess(uint32_t owner, unsigned lane, unsigned lanes,
                    unsigned column, unsigned columns, std::string_view what,
                    bool isWrite = false) const;
  /// Like checkAccess, for rows in the lanes base + laneOf(row).
  Fault checkRows(uint32_t owner, unsigned base, unsigned (*laneOf)(unsigned),
                  unsigned rows, unsigned column, unsigned columns,
                  std::string_view what, bool isWrite) const;
  /// Returns and clears the fault of the last access to freed columns.
  Fault takeLateUse() { return std::exchange(lateUse, Fault()); }
  /// Sets the observer of `owner`, until release().
  void observe(uint32_t owner, TensorObserver *observer);
  uint32_t *row(unsigned lane) { return &cells[lane * tmemColumns]; }
  const uint32_t *row(unsigned lane) const {
    return &cells[lane * tmemColumns];
  }
  /// Returns true if all cells of the range have been written.
  bool isDefined(unsigned lane, unsigned column, unsigned columns) const;
  void define(unsigned lane, unsigned column, unsigned columns);
  void undefine(unsigned lane, unsigned column, unsigned columns);

  /// Performs tcgen05.ld or .st for a whole warp, with `registers[r * 32 +
  /// thread]`. The load completes even if the fault is Uninitialized.
  Fault load(uint32_t owner, const TmemTransfer &transfer,
             uint32_t *registers) const;

  /// Returns the mask of threads for which the preceding load read unwritten
  /// cells into register `reg`, and the lane and column of the first such cell.
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
  /// Columns freed by running CTAs and not allocated again.
  std::vector<Allocation> freed;
  mutable Fault lateUse;
  std::vector<OwnerState> owners;
  std::vector<std::pair<uint32_t, TensorObserver *>> observers;
  bool isHeld(uint32_t owner, unsigned column, unsigned columns, bool orWasHeld,
              unsigned &missing) const;
};

} // namespace mx::sim

#endif // MXSIM_TENSOR_TENSORMEMORY_H
