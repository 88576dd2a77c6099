//===- Findings.cpp - Names, remedies, statuses ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Findings.h"

using namespace mx::sim;

static constexpr FindingInfo kinds[] = {
#define MX_FINDING(kind, name, section, about, remedy)                         \
  {name, section, about, remedy},
#include "mxsim/Findings.def"
};

/// Sections and remedies by situation.
static constexpr std::pair<std::string_view, std::string_view> situations[] = {
    {},
#define MX_SITUATION(kind, situation, section, remedy) {section, remedy},
#include "mxsim/Findings.def"
};

const FindingInfo &mx::sim::infoOf(FindingKind kind) {
  return kinds[unsigned(kind)];
}

std::string_view mx::sim::toString(FindingKind kind) {
  return infoOf(kind).name;
}

std::string_view Finding::remedy() const {
  return situation == Situation::None ? infoOf(kind).remedy
                                      : situations[unsigned(situation)].second;
}

std::string Finding::link() const {
  return MXSIM_DOCS "Checks.md#" +
         std::string(situation == Situation::None
                         ? infoOf(kind).section
                         : situations[unsigned(situation)].first);
}

std::string_view mx::sim::toString(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::BadInput:
    return "bad-input";
  case LaunchStatus::Deadlock:
    return "deadlock";
  case LaunchStatus::Failed:
    return "failed";
  case LaunchStatus::Clean:
    return "clean";
  }
  return "unknown";
}
