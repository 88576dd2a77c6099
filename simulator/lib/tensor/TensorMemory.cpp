//===- TensorMemory.cpp - Tensor memory of an SM --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the allocation rules of PTX ISA, tcgen05.alloc, and the register
// mappings of tcgen05.ld and tcgen05.st.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/TensorMemory.h"

#include <algorithm>
#include <iterator>

using namespace mx::sim;

namespace {

constexpr unsigned minColumns = 32;
constexpr unsigned warpLanes = 32;

std::string str(uint64_t value) { return std::to_string(value); }

Fault allocationFault(std::string message) {
  return {FaultKind::Allocation, std::move(message)};
}

std::string describeCell(unsigned lane, unsigned column) {
  return "lane " + str(lane) + ", column " + str(column);
}

struct Cell {
  unsigned lane, column;
};

/// Shape of tcgen05.ld and tcgen05.st. Lanes and columns are relative to the
/// base of the access.
struct ShapeInfo {
  std::string_view name;
  unsigned lanes;
  /// Registers per repeat, largest repeat, columns per repeat.
  unsigned registers, maxRepeat, columns;
  Cell (*cell)(unsigned thread, unsigned reg);
};

// See PTX ISA, matrix fragments of tcgen05.ld and tcgen05.st.
constexpr ShapeInfo shapes[] = {
    {"32x32b", 32, 1, 128, 1,
     [](unsigned t, unsigned r) { return Cell{t, r}; }},
    {"16x64b", 16, 1, 128, 2,
     [](unsigned t, unsigned r) {
       return Cell{8 * (t % 2) + t / 4, 2 * r + t / 2 % 2};
     }},
    {"16x128b", 16, 2, 64, 4,
     [](unsigned t, unsigned r) {
       return Cell{t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
     }},
    {"16x256b", 16, 4, 32, 8,
     [](unsigned t, unsigned r) {
       return Cell{t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
     }},
    {"16x32bx2", 16, 1, 128, 1,
     [](unsigned t, unsigned r) { return Cell{t % 16, r}; }},
};

const ShapeInfo &info(TmemShape shape) {
  return shapes[static_cast<unsigned>(shape)];
}

/// Rectangle of a transfer. Shape 16x32bx2 accesses two rectangles.
struct Window {
  unsigned lane, lanes, column, columns;
};

Fault resolve(const TmemTransfer &transfer, Window &window) {
  const ShapeInfo &shape = info(transfer.shape);
  if (transfer.registers() == 0)
    return {FaultKind::Shape, "tensor memory access of shape " +
                                  std::string(shape.name) + " has no repeat " +
                                  str(transfer.repeat)};
  // On hardware, a warp accesses its own quarter of the lanes, regardless of
  // the quarter in the address. Report an error if the address names another
  // quarter. Kernels for CTA pairs add 128 to the lane in the second CTA. The
  // addition has no effect because each CTA has 128 lanes.
  unsigned quarter = warpLanes * (transfer.warp % 4);
  unsigned lane = tmemLane(transfer.address) % tmemLanes;
  if (lane >= warpLanes && (lane & ~31u) != quarter)
    return {FaultKind::Bounds,
            "warp " + str(transfer.warp) + " reaches lanes " + str(quarter) +
                " to " + str(quarter + 31) + " only, got lane " + str(lane)};
  unsigned inner = lane % warpLanes;
  bool aligned = inner == 0 || (inner == 16 && shape.lanes == 16);
  if (!aligned)
    return {FaultKind::Alignment,
            "tensor memory access of shape " + std::string(shape.name) +
                " must begin at lane " + (shape.lanes == 16 ? "0 or 16" : "0") +
                " of the warp, got " + str(inner)};
  window.lane = quarter + inner;
  window.lanes = shape.lanes;
  window.column = tmemColumn(transfer.address);
  window.columns = shape.columns * transfer.repeat * (transfer.pack16 ? 2 : 1);
  return {};
}

} // namespace

bool mx::sim::parseTmemShape(std::string_view name, TmemShape &shape) {
  for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
    if (shapes[i].name == name) {
      shape = static_cast<TmemShape>(i);
      return true;
    }
  return false;
}

unsigned TmemTransfer::registers() const {
  const ShapeInfo &kind = info(shape);
  bool powerOfTwo = repeat && (repeat & (repeat - 1)) == 0;
  return powerOfTwo && repeat <= kind.maxRepeat ? repeat * kind.registers : 0;
}

TensorMemory::TensorMemory() : cells(tmemLanes * tmemColumns) {}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

TensorMemory::OwnerState &TensorMemory::state(uint32_t owner) {
  for (OwnerState &entry : owners)
    if (entry.owner == owner)
      return entry;
  owners.push_back({owner, tmemColumns, false});
  return owners.back();
}

const TensorMemory::OwnerState *TensorMemory::findState(uint32_t owner) const {
  for (const OwnerState &entry : owners)
    if (entry.owner == owner)
      return &entry;
  return nullptr;
}

Fault TensorMemory::checkAllocate(uint32_t owner, uint32_t columns) const {
  bool legal = columns >= minColumns && columns <= tmemColumns &&
               (columns & (columns - 1)) == 0;
  if (!legal)
    return allocationFault("tcgen05.alloc requires 32, 64, 128, 256 or 512 "
                           "columns, got " +
                           str(columns));
  const OwnerState *entry = findState(owner);
  if (!entry)
    return {};
  if (entry->relinquished)
    return allocationFault("tcgen05.alloc after "
                           "tcgen05.relinquish_alloc_permit");
  if (columns > entry->lastColumns)
    return allocationFault("tcgen05.alloc of " + str(columns) +
                           " columns after one of " + str(entry->lastColumns) +
                           ": allocations of a CTA must not increase");
  return {};
}

bool TensorMemory::isFree(unsigned column, unsigned columns) const {
  return std::none_of(live.begin(), live.end(), [&](const Allocation &a) {
    return column < a.column + a.columns && a.column < column + columns;
  });
}

void TensorMemory::take(uint32_t owner, unsigned column, unsigned columns) {
  state(owner).lastColumns = columns;
  live.push_back({owner, column, columns});
  freed.erase(std::remove_if(freed.begin(), freed.end(),
                             [&](const Allocation &a) {
                               return column < a.column + a.columns &&
                                      a.column < column + columns;
                             }),
              freed.end());
  for (unsigned lane = 0; lane < tmemLanes; ++lane)
    undefine(lane, column, columns);
}

TensorMemory::AllocResult TensorMemory::allocate(uint32_t owner,
                                                 uint32_t columns) {
  AllocResult result;
  if ((result.fault = checkAllocate(owner, columns)))
    return result;
  for (unsigned column = 0; column < tmemColumns; column += minColumns)
    if (column + columns <= tmemColumns && isFree(column, columns)) {
      take(owner, column, columns);
      result.status = AllocStatus::Done;
      result.column = column;
      return result;
    }
  result.status = AllocStatus::Blocked;
  return result;
}

TensorMemory::AllocResult TensorMemory::allocatePair(TensorMemory &first,
                                                     uint32_t firstOwner,
                                                     TensorMemory &second,
                                                     uint32_t secondOwner,
                                                     uint32_t columns) {
  AllocResult result;
  if ((result.fault = first.checkAllocate(firstOwner, columns)))
    return result;
  if ((result.fault = second.checkAllocate(secondOwner, columns)))
    return result;
  for (unsigned column = 0; column < tmemColumns; column += minColumns)
    if (column + columns <= tmemColumns && first.isFree(column, columns) &&
        second.isFree(column, columns)) {
      first.take(firstOwner, column, columns);
      second.take(secondOwner, column, columns);
      result.status = AllocStatus::Done;
      result.column = column;
      return result;
    }
  result.status = AllocStatus::Blocked;
  return result;
}

Fault TensorMemory::deallocate(uint32_t owner, uint32_t address,
                               uint32_t columns) {
  auto found = std::find_if(live.begin(), live.end(), [&](const Allocation &a) {
    return a.owner == owner && a.column == address;
  });
  if (found == live.end()) {
    bool isSecond =
        std::any_of(freed.begin(), freed.end(), [&](const Allocation &a) {
          return a.owner == owner && a.column == address;
        });
    return {FaultKind::AllocationDone,
            "tcgen05.dealloc of address " + str(address) +
                (isSecond ? ", which this CTA has freed before"
                          : ", which no live tcgen05.alloc of this CTA "
                            "returned")};
  }
  Fault fault;
  if (found->columns != columns)
    fault = {FaultKind::AllocationDone,
             "tcgen05.dealloc of " + str(columns) + " columns at address " +
                 str(address) + ", where " + str(found->columns) +
                 " were allocated"};
  freed.push_back(*found);
  live.erase(found);
  return fault;
}

Fault TensorMemory::relinquish(uint32_t owner) {
  OwnerState &entry = state(owner);
  entry.relinquished = true;
  return {};
}

std::vector<TensorMemory::Allocation>
TensorMemory::allocations(uint32_t owner) const {
  std::vector<Allocation> result;
  std::copy_if(live.begin(), live.end(), std::back_inserter(result),
               [&](const Allocation &a) { return a.owner == owner; });
  return result;
}

void TensorMemory::release(uint32_t owner) {
  auto forget = [&](auto &list, auto ownerOf) {
    list.erase(
        std::remove_if(list.begin(), list.end(),
                       [&](const auto &e) { return ownerOf(e) == owner; }),
        list.end());
  };
  auto member = [](const auto &e) { return e.owner; };
  forget(live, member);
  forget(freed, member);
  forget(owners, member);
  forget(observers, [](const auto &e) { return e.first; });
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

void TensorMemory::observe(uint32_t owner, TensorObserver *observer) {
  observers.emplace_back(owner, observer);
}

/// Returns true if the columns are allocated to `owner`. An access may span
/// adjacent allocations of a CTA.
bool TensorMemory::isHeld(uint32_t owner, unsigned column, unsigned columns,
                          bool orWasHeld, unsigned &missing) const {
  missing = column;
  for (bool progress = true; progress && missing < column + columns;) {
    progress = false;
    for (const std::vector<Allocation> *list : {&live, &freed})
      for (const Allocation &a : *list)
        if ((orWasHeld || list == &live) && a.owner == owner &&
            a.column <= missing && missing < a.column + a.columns) {
          missing = a.column + a.columns;
          progress = true;
        }
  }
  return missing >= column + columns;
}

Fault TensorMemory::checkAccess(uint32_t owner, unsigned lane, unsigned lanes,
                                unsigned column, unsigned columns,
                                std::string_view what, bool isWrite) const {
  if (lane + lanes > tmemLanes || column + columns > tmemColumns)
    return {FaultKind::Bounds,
            std::string(what) + " covers lanes " + str(lane) + " to " +
                str(lane + lanes - 1) + " and columns " + str(column) + " to " +
                str(column + columns - 1) +
                ", but tensor memory has 128 lanes and 512 columns"};
  unsigned missing, never;
  if (!isHeld(owner, column, columns, /*orWasHeld=*/false, missing)) {
    bool wasHeld = isHeld(owner, column, columns, /*orWasHeld=*/true, never);
    std::string text = std::string(what) + " covers columns " + str(column) +
                       " to " + str(column + columns - 1) +
                       ", of which column " + str(wasHeld ? missing : never);
    if (!wasHeld)
      return allocationFault(text + " is not allocated to this CTA");
    lateUse = {FaultKind::AllocationDone, text + " has been freed before"};
  }
  for (auto &[who, observer] : observers)
    if (who == owner)
      observer->access(lane, lanes, column, columns, isWrite);
  return {};
}

Fault TensorMemory::checkRows(uint32_t owner, unsigned base,
                              unsigned (*laneOf)(unsigned), unsigned rows,
                              unsigned column, unsigned columns,
                              std::string_view what, bool isWrite) const {
  for (unsigned begin = 0, end; begin < rows; begin = end) {
    end = begin + 1;
    while (end < rows && laneOf(end) == laneOf(end - 1) + 1)
      ++end;
    if (Fault fault = checkAccess(owner, base + laneOf(begin), end - begin,
                                  column, columns, what, isWrite))
      return fault;
  }
  return {};
}

/// Calls fn(word, mask) for the bits of a range of columns.
template <typename Words, typename Fn>
static void forEachWord(Words &words, unsigned lane, unsigned column,
                        unsigned columns, Fn fn) {
  unsigned end = column + columns;
  while (column < end) {
    unsigned bit = column % 64;
    unsigned count = std::min(64 - bit, end - column);
    uint64_t mask =
        count == 64 ? ~uint64_t{0} : ((uint64_t{1} << count) - 1) << bit;
    fn(words[(lane * tmemColumns + column) / 64], mask);
    column += count;
  }
}

bool TensorMemory::isDefined(unsigned lane, unsigned column,
                             unsigned columns) const {
  bool all = true;
  forEachWord(defined, lane, column, columns,
              [&](const uint64_t &word, uint64_t mask) {
                all &= (word & mask) == mask;
              });
  return all;
}

void TensorMemory::define(unsigned lane, unsigned column, unsigned columns) {
  forEachWord(defined, lane, column, columns,
              [](uint64_t &word, uint64_t mask) { word |= mask; });
}

void TensorMemory::undefine(unsigned lane, unsigned column, unsigned columns) {
  forEachWord(defined, lane, column, columns,
              [](uint64_t &word, uint64_t mask) { word &= ~mask; });
}

/// Checks the rectangle, or both rectangles of 16x32bx2.
static Fault checkTransfer(const TensorMemory &memory, uint32_t owner,
                           const TmemTransfer &transfer, const Window &window,
                           const char *what, bool isWrite) {
  if (Fault fault =
          memory.checkAccess(owner, window.lane, window.lanes, window.column,
                             window.columns, what, isWrite))
    return fault;
  if (transfer.shape != TmemShape::L16x32bx2)
    return {};
  return memory.checkAccess(owner, window.lane, window.lanes,
                            window.column + transfer.splitOffset,
                            window.columns, what, isWrite);
}

/// Location of a register of a thread. A register contains `width` columns.
struct Place {
  unsigned lane, column;
};
static Place placeOf(const ShapeInfo &shape, const TmemTransfer &transfer,
                     const Window &window, unsigned thread, unsigned reg) {
  Cell at = shape.cell(thread, reg);
  // With .pack::16b, a register contains two columns.
  unsigned column = at.column * (transfer.pack16 ? 2 : 1);
  if (transfer.shape == TmemShape::L16x32bx2)
    column += thread / 16 * transfer.splitOffset;
  return {window.lane + at.lane, window.column + column};
}

/// Returns a fault for the first unwritten cell of a load. An accumulator with
/// 64 rows fills only 16 of the 32 lanes of a warp, but 32x32b always loads all
/// lanes. Unwritten cells are therefore legal if half of a column is fully
/// written and the other half is unwritten.
static Fault findUndefined(const TensorMemory &memory,
                           const TmemTransfer &transfer, const Window &window) {
  bool rows = true;
  for (unsigned lane = 0; lane < window.lanes; ++lane) {
    unsigned at = window.lane + lane;
    rows &= memory.isDefined(at, window.column, window.columns);
    if (transfer.shape == TmemShape::L16x32bx2)
      rows &= memory.isDefined(at, window.column + transfer.splitOffset,
                               window.columns);
  }
  if (rows)
    return {};
  for (unsigned r = 0; r < transfer.registers(); ++r) {
    unsigned lane, column;
    if (memory.undefinedThreads(transfer, r, lane, column))
      return {FaultKind::Uninitialized, "tcgen05.ld reads tensor memory at " +
                                            describeCell(lane, column) +
                                            ", which has not been written"};
  }
  return {};
}

uint32_t TensorMemory::undefinedThreads(const TmemTransfer &transfer,
                                        unsigned reg, unsigned &lane,
                                        unsigned &column) const {
  Window window;
  if (resolve(transfer, window))
    return 0;
  const ShapeInfo &shape = info(transfer.shape);
  unsigned width = transfer.pack16 ? 2 : 1;
  auto countDefined = [&](unsigned from, unsigned at) {
    unsigned n = 0;
    for (unsigned k = 0; k < warpLanes / 2; ++k)
      n += isDefined(from + k, at, width);
    return n;
  };
  if (transfer.shape == TmemShape::L32x32b) {
    unsigned at = window.column + reg * width, half = warpLanes / 2;
    unsigned low = countDefined(window.lane, at),
             high = countDefined(window.lane + half, at);
    if ((low == half && high == 0) || (low == 0 && high == half))
      return 0;
  }
  uint32_t threads = 0;
  for (unsigned t = 0; t < warpLanes; ++t) {
    Place at = placeOf(shape, transfer, window, t, reg);
    if (isDefined(at.lane, at.column, width))
      continue;
    if (!threads) {
      lane = at.lane;
      column = at.column;
    }
    threads |= 1u << t;
  }
  return threads;
}

Fault TensorMemory::load(uint32_t owner, const TmemTransfer &transfer,
                         uint32_t *registers) const {
  Window window;
  if (Fault fault = resolve(transfer, window))
    return fault;
  if (Fault fault =
          checkTransfer(*this, owner, transfer, window, "tcgen05.ld", false))
    return fault;
  const ShapeInfo &shape = info(transfer.shape);
  unsigned count = transfer.registers();
  if (transfer.shape == TmemShape::L32x32b && !transfer.pack16) {
    // Use a fast path for epilogues because each thread loads a single lane.
    for (unsigned t = 0; t < warpLanes; ++t) {
      const uint32_t *cell = row(window.lane + t) + window.column;
      for (unsigned r = 0; r < count; ++r)
        registers[r * warpLanes + t] = cell[r];
    }
    return findUndefined(*this, transfer, window);
  }
  for (unsigned t = 0; t < warpLanes; ++t)
    for (unsigned r = 0; r < count; ++r) {
      Place at = placeOf(shape, transfer, window, t, r);
      const uint32_t *cell = row(at.lane) + at.column;
      registers[r * warpLanes + t] =
          transfer.pack16 ? (cell[0] & 0xFFFF) | cell[1] << 16 : cell[0];
    }
  return findUndefined(*this, transfer, window);
}

Fault TensorMemory::store(uint32_t owner, const TmemTransfer &transfer,
                          const uint32_t *registers) {
  Window window;
  if (Fault fault = resolve(transfer, window))
    return fault;
  if (Fault fault =
          checkTransfer(*this, owner, transfer, window, "tcgen05.st", true))
    return fault;
  const ShapeInfo &shape = info(transfer.shape);
  unsigned count = transfer.registers();
  for (unsigned t = 0; t < warpLanes; ++t)
    for (unsigned r = 0; r < count; ++r) {
      Place at = placeOf(shape, transfer, window, t, r);
      uint32_t value = registers[r * warpLanes + t];
      uint32_t *cell = row(at.lane) + at.column;
      cell[0] = transfer.pack16 ? value & 0xFFFF : value;
      if (transfer.pack16)
        cell[1] = value >> 16;
    }
  // Every shape fills its window.
  for (unsigned lane = 0; lane < window.lanes; ++lane) {
    define(window.lane + lane, window.column, window.columns);
    if (transfer.shape == TmemShape::L16x32bx2)
      define(window.lane + lane, window.column + transfer.splitOffset,
             window.columns);
  }
  return {};
}
