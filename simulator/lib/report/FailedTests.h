//===- FailedTests.h - loops that wait for an mbarrier ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often a loop tests a barrier says nothing about a kernel: it depends on
// who comes first. What such loops execute is counted apart, so that it can be
// left out of comparisons. A round counts when a test fails and the same lanes
// do the same test again (instruction, barrier, phase) after instructions that
// only it can see.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_FAILEDTESTS_H
#define MXSIM_LIB_REPORT_FAILEDTESTS_H

#include "../machine/Program.h"

#include <unordered_map>

namespace mx::sim {

/// What counting needs to know about each instruction of a program.
class Places {
public:
  explicit Places(const Program &program);

  enum Kind : uint8_t {
    Hidden,  ///< no instruction of the text, or a part of one
    Silent,  ///< only its own lanes see what it does
    Visible, ///< others may see it
  };
  Kind operator[](const Instr *i) const { return kinds[i - code]; }

private:
  const Instr *code;
  std::vector<Kind> kinds;
};

/// Of one cluster. Lanes are known by a number that they keep as long as they
/// stay together.
class FailedTests {
public:
  struct Counts {
    uint64_t tests = 0, instructions = 0;
  };

  /// `clusterWarps`: of all CTAs.
  FailedTests(const Places *places, size_t warps, size_t clusterWarps)
      : counts(warps), places(places), open(clusterWarps) {}

  static constexpr uint32_t kStrands = 32;
  /// The number of a group of lanes of a warp of the cluster.
  static uint32_t lanesOf(uint32_t warp, uint32_t strand) {
    return warp * kStrands + strand;
  }
  /// Whether the warp has tests for execute() to follow.
  bool hasOpen(uint32_t warp) const { return !open[warp].empty(); }
  void execute(uint32_t lanes, const Instr *i);
  void fail(uint32_t lanes, uint32_t warp, const Instr *i, uint32_t barrier,
            uint32_t parity);
  void succeed(uint32_t lanes, uint32_t warp, const Instr *i, uint32_t barrier,
               uint32_t parity);
  /// Other lanes get this number.
  void forget(uint32_t lanes);

  std::vector<Counts> counts; ///< by index of the warp

private:
  struct Test {
    uint32_t lanes;
    const Instr *at;
    uint32_t barrier, parity;
    uint64_t instructions; ///< from it on
  };
  using Tests = std::vector<Test>;
  Tests &ofWarp(uint32_t lanes) { return open[lanes / kStrands]; }
  static Tests::iterator find(Tests &tests, uint32_t lanes);

  const Places *places;    ///< null: nothing is counted
  std::vector<Tests> open; ///< by warp of the cluster
};

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_FAILEDTESTS_H
