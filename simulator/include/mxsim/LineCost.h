//===- LineCost.h - what lines of a kernel cost -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each cycle of a warp's life belongs to one instruction, and is spent on its
// issue or on what it waits for. simulator/docs/TimeModel.md says how they are
// counted.
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

/// A line of the source.
struct SourceLine {
  std::string file;
  unsigned line = 0, column = 0;
};

/// A place in the source, from .loc.
struct SourcePlace {
  std::string file; ///< empty: there is no .loc, and only the function is known
  unsigned line = 0, column = 0;
  std::string function; ///< as in the PTX; a person reads its shortName
  /// Lines of the kernels that the compiler merged with this one, or null.
  std::shared_ptr<const std::vector<SourceLine>> also = {};
};

/// Where an instruction comes from: its own place, then the calls by which the
/// compiler inlined it, the outermost last. Empty where nothing is known.
using SourceChain = std::vector<SourcePlace>;

/// What a warp spends a cycle on.
enum class Spent : uint8_t {
  Issue,    ///< the instruction issues, or the next one has to wait for it
  Slot,     ///< a scheduler, a pipe or the port of memory is taken
  Result,   ///< of loads, of arithmetic and of functions
  Mbarrier, ///< its phase, and what comes of a test of it
  Barrier,  ///< of CTA or cluster, other warps of a warpgroup, other lanes
  Group,    ///< of asynchronous copies
  Mma,      ///< of tensor cores, and room in their pipe
  Count
};
constexpr unsigned kSpent = unsigned(Spent::Count);

struct SpentInfo {
  std::string_view key, column; ///< in JSON, in tables
};
const SpentInfo &infoOf(Spent spent);

/// What all warps of a launch did at a line.
struct LineCost {
  /// Of the PTX; 0: functions of other modules. Of costs by source: the first.
  unsigned line = 0;
  std::string text;      ///< of the PTX, without what is around it
  SourceChain source;    ///< of its first instruction
  uint64_t executed = 0; ///< instructions of warps
  std::array<uint64_t, kSpent> cycles = {};
  uint64_t allCycles() const;
};

/// The same by the line of the source that .loc names, the dearest first;
/// without what has no .loc.
std::vector<LineCost> costsBySource(const std::vector<LineCost> &lines);

} // namespace mx::sim

#endif // MXSIM_LINECOST_H
