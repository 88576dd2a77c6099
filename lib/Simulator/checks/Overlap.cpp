//===- Overlap.cpp - memory of kernels that overlap -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Overlap.h"

#include "mx/Simulator/Simulator.h"

#include <algorithm>

using namespace mx::sim;

/// Calls fn(page) for the pages of a range, as far as there are any.
template <class F>
static void forPages(uint64_t address, uint64_t bytes, size_t pages, F &&fn) {
  if (!bytes || address < DeviceMemory::kBase)
    return;
  uint64_t begin = address - DeviceMemory::kBase;
  uint64_t last = (begin + bytes - 1) / DeviceMemory::kPageBytes;
  for (uint64_t p = begin / DeviceMemory::kPageBytes; p <= last && p < pages;
       ++p)
    fn(p);
}

void Overlap::begin(bool isProgrammatic, size_t pages) {
  // The one before may have let this begin before it waited itself, so those
  // that it ran beside count too.
  if (isProgrammatic) {
    earlier.resize(std::max(earlier.size(), current.size()));
    for (size_t p = 0; p < current.size(); ++p)
      earlier[p] |= current[p];
  } else {
    earlier.clear();
  }
  current = std::vector<std::atomic<uint8_t>>(pages);
}

void Overlap::settle() {
  current.clear();
  earlier.clear();
}

void Overlap::note(uint64_t address, uint64_t bytes, bool isWrite) {
  uint8_t bit = isWrite ? kWritten : kRead;
  forPages(address, bytes, current.size(), [&](uint64_t page) {
    std::atomic<uint8_t> &uses = current[page];
    if (!(uses.load(std::memory_order_relaxed) & bit))
      uses.fetch_or(bit, std::memory_order_relaxed);
  });
}

bool Overlap::isShared(uint64_t address, uint64_t bytes, bool isWrite) const {
  uint8_t bits = isWrite ? kRead | kWritten : kWritten;
  bool found = false;
  forPages(address, bytes, earlier.size(),
           [&](uint64_t page) { found |= (earlier[page] & bits) != 0; });
  return found;
}
