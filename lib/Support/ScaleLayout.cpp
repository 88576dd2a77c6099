//===- ScaleLayout.cpp - where each block scale lies ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The part of the scale layouts that needs the offsets array of ragged groups;
// everything else is constexpr in the header.
//
//===----------------------------------------------------------------------===//

#include "mx/Support/ScaleLayout.h"

using namespace mx;

void mx::raggedReductionStarts(const int32_t *offsets, size_t groups,
                               int64_t *starts) {
  starts[0] = 0;
  for (size_t g = 0; g < groups; ++g) {
    int64_t size = offsets[g] - groupStart(offsets, g);
    starts[g + 1] = starts[g] + roundUp(size, kRaggedReductionAlign);
  }
}

std::string mx::checkGroupOffsets(const int32_t *offsets, size_t groups,
                                  int64_t total) {
  int64_t previous = 0;
  for (size_t g = 0; g < groups; ++g) {
    int64_t end = offsets[g];
    if (end < previous)
      return "expected group offsets that do not decrease, found " +
             std::to_string(end) + " after " + std::to_string(previous) +
             " at group " + std::to_string(g);
    previous = end;
  }
  if (previous > total)
    return "expected group offsets of at most " + std::to_string(total) +
           ", found " + std::to_string(previous) + " at group " +
           std::to_string(groups - 1);
  return {};
}
