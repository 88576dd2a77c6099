//===- FailedTests.h - Failed tests of mbarriers in loops -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of times that a loop tests a barrier depends on the schedule, not
// on the kernel. Instructions of such loops are counted separately, so
// comparisons can exclude them. An iteration is counted if a test fails and the
// same lanes repeat the test, with the same instruction, barrier and phase, and
// execute no instruction with effects on other lanes in between.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_FAILEDTESTS_H
#define MXSIM_LIB_REPORT_FAILEDTESTS_H

#include "../machine/Program.h"

namespace mx::sim {

/// Visibility of each instruction of a program.
class Places {
public:
  explicit Places(const Program &program);

  enum Kind : uint8_t {
    Hidden,  ///< not the first handler of a PTX instruction
    Silent,  ///< effects are visible to its own lanes only
    Visible, ///< effects may be visible to others
  };
  Kind operator[](const Instr *i) const { return kinds[i - code]; }

private:
  const Instr *code;
  std::vector<Kind> kinds;
};

/// Failed tests of a cluster. A group of lanes is identified by a number until
/// the group splits or merges.
class FailedTests {
public:
  struct Counts {
    uint64_t tests = 0, instructions = 0;
  };

  /// `clusterWarps`: warps of all CTAs in the cluster.
  FailedTests(const Places *places, size_t warps, size_t clusterWarps)
      : counts(warps), places(places), open(clusterWarps) {}

  static constexpr uint32_t kStrands = 32;
  /// Identifies a group of lanes of a warp in the cluster.
  static uint32_t lanesOf(uint32_t warp, uint32_t strand) {
    return warp * kStrands + strand;
  }
  /// Returns true if execute() must follow tests of the warp.
  bool hasOpen(uint32_t warp) const { return !open[warp].empty(); }
  void execute(uint32_t lanes, const Instr *i);
  void fail(uint32_t lanes, uint32_t warp, const Instr *i, uint32_t barrier,
            uint32_t parity);
  void succeed(uint32_t lanes, uint32_t warp, const Instr *i, uint32_t barrier,
               uint32_t parity);
  /// Must be called before the number `lanes` is reused for other lanes.
  void forget(uint32_t lanes);

  std::vector<Counts> counts; ///< indexed by warp

private:
  struct Test {
    uint32_t lanes;
    const Instr *at;
    uint32_t barrier, parity;
    uint64_t instructions; ///< executed since the test
  };
  using Tests = std::vector<Test>;
  Tests &ofWarp(uint32_t lanes) { return open[lanes / kStrands]; }
  static Tests::iterator find(Tests &tests, uint32_t lanes);

  const Places *places;    ///< null: counting is disabled
  std::vector<Tests> open; ///< indexed by warp of the cluster
};

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_FAILEDTESTS_H
