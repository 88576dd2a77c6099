//===- Findings.h - findings while a kernel runs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repetitions of a finding are counted, not kept.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_FINDINGS_H
#define MXSIM_LIB_MACHINE_FINDINGS_H

#include "mxsim/Simulator.h"

#include <map>
#include <tuple>
#include <vector>

namespace mx::sim {

/// Findings with one key are one: a kind at a line of the PTX, and whether it
/// is a warning, which must not stand for an error.
using FindingKey = std::tuple<FindingKind, unsigned, bool>;
inline FindingKey findingKey(const Finding &f) {
  return {f.kind, f.ptxLine, f.isWarning};
}
struct FindingCount {
  uint64_t occurrences = 0;
  std::vector<uint64_t> ctas; ///< their indices in the grid
};
using FindingCounts = std::map<FindingKey, FindingCount>;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_FINDINGS_H
