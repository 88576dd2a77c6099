//===- Flow.h - Loop depths and dominators of blocks ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used for PTX and for machine code. ptxas reorders blocks and moves waiting
// loops to the end, so the position in the text does not identify a block.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_FLOW_H
#define MXSIM_LIB_TIME_FLOW_H

#include <cstdint>
#include <vector>

namespace mx::sim::time {

class Flow {
public:
  /// `next`: successors of each block. Block 0 is the entry.
  explicit Flow(const std::vector<std::vector<uint32_t>> &next);
  Flow() = default;

  /// Returns the number of natural loops around the block. The back edge of a
  /// natural loop leads to a dominator.
  unsigned depth(uint32_t block) const { return depths[block]; }
  /// Returns the nearest common dominator. If one block is unreachable, returns
  /// the other block.
  uint32_t commonDominator(uint32_t a, uint32_t b) const;

private:
  void findDominators(const std::vector<std::vector<uint32_t>> &next);
  void findLoops();

  static constexpr uint32_t kNone = ~0u;
  std::vector<uint32_t> order;     ///< reverse postorder of reachable blocks
  std::vector<uint32_t> number;    ///< index in `order`, or kNone
  std::vector<uint32_t> dominator; ///< immediate; the entry dominates itself
  std::vector<std::vector<uint32_t>> before;
  std::vector<unsigned> depths;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_FLOW_H
