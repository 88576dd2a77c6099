//===- Flow.h - loops and dominators of blocks ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of PTX and of machine code: by how many loops a block is surrounded, and
// through which blocks every way to it goes. ptxas moves blocks, and puts loops
// that wait after all others: where a block stands in the text says nothing.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_FLOW_H
#define MXSIM_LIB_TIME_FLOW_H

#include <cstdint>
#include <vector>

namespace mx::sim::time {

class Flow {
public:
  /// `next`: the blocks to which each one leads; the first is the entry.
  explicit Flow(const std::vector<std::vector<uint32_t>> &next);
  Flow() = default;

  /// How many loops are around a block: a loop is what leads back to a block
  /// that dominates it.
  unsigned depth(uint32_t block) const { return depths[block]; }
  /// The nearest block through which every way to `a` and every way to `b`
  /// goes; the other one where one of them cannot be reached.
  uint32_t commonDominator(uint32_t a, uint32_t b) const;

private:
  void findDominators(const std::vector<std::vector<uint32_t>> &next);
  void findLoops();

  static constexpr uint32_t kNone = ~0u;
  std::vector<uint32_t> order;     ///< reverse postorder of what is reached
  std::vector<uint32_t> number;    ///< in it; kNone: not reached
  std::vector<uint32_t> dominator; ///< the immediate one; of the entry: itself
  std::vector<std::vector<uint32_t>> before;
  std::vector<unsigned> depths;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_FLOW_H
