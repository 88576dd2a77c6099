//===- Findings.h - Deduplication of findings during a launch ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeated findings are counted, not stored.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_FINDINGS_H
#define MXSIM_LIB_MACHINE_FINDINGS_H

#include "mxsim/Simulator.h"

#include <map>
#include <tuple>
#include <vector>

namespace mx::sim {

/// Kind of a finding, and its situation if this needs another remedy.
struct Verdict {
  FindingKind kind;
  Situation situation = Situation::None;

  Verdict(FindingKind kind, Situation situation = Situation::None)
      : kind(kind), situation(situation) {}
};

/// Key for merging findings: the kind, the PTX line, and whether the finding is
/// a warning, because an error must not be merged into a warning.
using FindingKey = std::tuple<FindingKind, unsigned, bool>;
inline FindingKey findingKey(const Finding &f) {
  return {f.kind, f.ptxLine, f.isWarning};
}
struct FindingCount {
  uint64_t occurrences = 0;
  std::vector<uint64_t> ctas; ///< indices in the grid
};
using FindingCounts = std::map<FindingKey, FindingCount>;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_FINDINGS_H
