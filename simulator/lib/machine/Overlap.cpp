//===- Overlap.cpp - Memory of overlapping kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Overlap.h"

#include "mxsim/Simulator.h"

#include <algorithm>

using namespace mx::sim;

/// Calls fn(page) for all existing pages of a range.
template <class F>
static void forPages(uint64_t base, uint64_t address, uint64_t bytes,
                     size_t pages, F &&fn) {
  if (!bytes || address < base)
    return;
  uint64_t begin = address - base;
  uint64_t last = (begin + bytes - 1) / DeviceMemory::kPageBytes;
  for (uint64_t p = begin / DeviceMemory::kPageBytes; p <= last && p < pages;
       ++p)
    fn(p);
}

void Overlap::begin(bool isProgrammatic, size_t pages) {
  // If the predecessor has no trigger, this kernel starts after all CTAs of the
  // predecessor have ended. If the predecessor also waited, all earlier kernels
  // have ended.
  auto ended = [](uint8_t uses) -> uint8_t {
    return uses >> kEndedShift << kEndedShift | uses << kEndedShift;
  };
  if (isProgrammatic) {
    // A wait covers the predecessor only (PTX ISA, griddepcontrol.wait).
    if (!waited) {
      overtaken.resize(std::max(overtaken.size(), earlier.size()));
      for (size_t p = 0; p < earlier.size(); ++p)
        overtaken[p] |= earlier[p] & (kRead | kWritten);
    }
    earlier.resize(std::max(earlier.size(), current.size()));
    if (!triggered && waited)
      std::transform(earlier.begin(), earlier.end(), earlier.begin(), ended);
    for (size_t p = 0; p < current.size(); ++p)
      earlier[p] |= triggered ? uint8_t(current[p]) : ended(current[p]);
  } else {
    earlier.clear();
    overtaken.clear();
  }
  current = std::vector<std::atomic<uint8_t>>(pages);
  triggered = waited = false;
}

void Overlap::settle() {
  current.clear();
  earlier.clear();
  overtaken.clear();
}

void Overlap::note(uint64_t address, uint64_t bytes, bool isWrite) {
  uint8_t bit = isWrite ? kWritten : kRead;
  forPages(base, address, bytes, current.size(), [&](uint64_t page) {
    std::atomic<uint8_t> &uses = current[page];
    if (!(uses.load(std::memory_order_relaxed) & bit))
      uses.fetch_or(bit, std::memory_order_relaxed);
  });
}

Overlap::Sharing Overlap::sharing(uint64_t address, uint64_t bytes,
                                  bool isWrite) const {
  uint8_t bits = isWrite ? kRead | kWritten : kWritten;
  uint8_t uses = 0;
  forPages(base, address, bytes, earlier.size(),
           [&](uint64_t page) { uses |= earlier[page]; });
  return uses & bits                  ? Sharing::WithRunning
         : uses >> kEndedShift & bits ? Sharing::WithEnded
                                      : Sharing::None;
}

bool Overlap::isOvertaking(uint64_t address, uint64_t bytes,
                           bool isWrite) const {
  uint8_t uses = 0;
  forPages(base, address, bytes, overtaken.size(),
           [&](uint64_t page) { uses |= overtaken[page]; });
  return uses & (isWrite ? kRead | kWritten : kWritten);
}
