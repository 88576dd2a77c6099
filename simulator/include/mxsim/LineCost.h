//===- LineCost.h - Cycles attributed to kernel lines -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each cycle of a warp is charged to an instruction, for its issue or for the
// resource that delays it. simulator/docs/TimeModel.md defines the accounting.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LINECOST_H
#define MXSIM_LINECOST_H

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mx::sim {

struct SourceLine {
  std::string file;
  unsigned line = 0, column = 0;
};

/// Source location taken from .loc.
struct SourcePlace {
  std::string file; ///< empty without .loc; then only the function is known
  unsigned line = 0, column = 0;
  std::string function; ///< name as in the PTX; see shortName()
  /// Lines of other kernels that the compiler merged with this line, or null.
  std::shared_ptr<const std::vector<SourceLine>> also = {};
};

/// Source location of an instruction, followed by the call sites through which
/// the compiler inlined it, outermost last. Empty if unknown.
using SourceChain = std::vector<SourcePlace>;

/// Activity or stall that a cycle of a warp is charged to.
enum class Spent : uint8_t {
  Issue,    ///< issue, or the delay before the next instruction
  Slot,     ///< busy scheduler, pipe or memory port
  Result,   ///< results of loads, arithmetic and functions
  Mbarrier, ///< mbarrier phases, and branches on a test
  Barrier,  ///< CTA or cluster barrier, warpgroup, other lanes
  Group,    ///< groups of asynchronous copies
  Mma,      ///< tensor cores, or free space in their pipe
  Count
};
constexpr unsigned kSpent = unsigned(Spent::Count);

struct SpentInfo {
  std::string_view key, column; ///< names in JSON and in tables
};
const SpentInfo &infoOf(Spent spent);

/// Cost of a line, summed over all warps of a launch.
struct LineCost {
  /// Line of the PTX; 0 for functions of other modules. For costs by source
  /// line, the first such line.
  unsigned line = 0;
  std::string text;      ///< trimmed text of the PTX line
  SourceChain source;    ///< location of the first instruction
  uint64_t executed = 0; ///< warp instructions
  std::array<uint64_t, kSpent> cycles = {};
  uint64_t allCycles() const;
};

/// Regroups the costs by the source lines of .loc, most expensive first. Omits
/// instructions without .loc.
std::vector<LineCost> costsBySource(const std::vector<LineCost> &lines);

} // namespace mx::sim

#endif // MXSIM_LINECOST_H
