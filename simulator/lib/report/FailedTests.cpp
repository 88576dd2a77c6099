//===- FailedTests.cpp - Failed tests of mbarriers in loops ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FailedTests.h"

#include "../machine/Handlers.h"
#include "../ptx/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;

static bool isSilent(const ptx::Instruction &i) {
  static constexpr std::string_view classes[] = {
      "integer",        "float",         "float function", "conversion",
      "comparison",     "move",          "control",        "warp",
      "global load",    "shared load",   "generic load",   "local load",
      "parameter load", "constant load", "mbarrier wait"};
  return std::find(std::begin(classes), std::end(classes), classOf(i)) !=
         std::end(classes);
}

Places::Places(const Program &program)
    : code(program.code.data()), kinds(program.code.size(), Hidden) {
  for (size_t k = 0; k < kinds.size(); ++k) {
    const InstrInfo &info = program.info[k];
    if (info.isFirst && program.code[k].fn != converge)
      kinds[k] = isSilent(*info.source) ? Silent : Visible;
  }
}

FailedTests::Tests::iterator FailedTests::find(Tests &tests, uint32_t lanes) {
  return std::find_if(tests.begin(), tests.end(),
                      [&](const Test &test) { return test.lanes == lanes; });
}

void FailedTests::forget(uint32_t lanes) {
  Tests &tests = ofWarp(lanes);
  if (auto it = find(tests, lanes); it != tests.end())
    tests.erase(it);
}

void FailedTests::execute(uint32_t lanes, const Instr *i) {
  Tests &tests = ofWarp(lanes);
  auto it = find(tests, lanes);
  // A waiting test is executed again on each attempt.
  if (it == tests.end() || it->at == i)
    return;
  Places::Kind kind = (*places)[i];
  if (kind == Places::Visible)
    tests.erase(it);
  else
    it->instructions += kind == Places::Silent;
}

void FailedTests::succeed(uint32_t lanes, uint32_t warp, const Instr *i,
                          uint32_t barrier, uint32_t parity) {
  Tests &tests = ofWarp(lanes);
  auto it = find(tests, lanes);
  if (it == tests.end())
    return;
  const Test &test = *it;
  if (test.at == i && test.barrier == barrier && test.parity == parity) {
    ++counts[warp].tests;
    counts[warp].instructions += test.instructions;
  }
  tests.erase(it);
}

void FailedTests::fail(uint32_t lanes, uint32_t warp, const Instr *i,
                       uint32_t barrier, uint32_t parity) {
  if (!places)
    return;
  succeed(lanes, warp, i, barrier, parity);
  ofWarp(lanes).push_back({lanes, i, barrier, parity, 1});
}
