//===- Findings.cpp - Names of findings and statuses ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Findings.h"

using namespace mx::sim;

std::string_view mx::sim::toString(FindingKind kind) {
  switch (kind) {
  case FindingKind::BadLaunch:
    return "bad-launch";
  case FindingKind::Unsupported:
    return "unsupported";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::Trap:
    return "trap";
  case FindingKind::InstructionLimit:
    return "instruction-limit";
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::IllegalInstruction:
    return "illegal-instruction";
  case FindingKind::UninitTensorMemory:
    return "uninit-tmem";
  case FindingKind::LoadBeforeWait:
    return "ld-before-wait";
  case FindingKind::UninitShared:
    return "uninit-smem";
  case FindingKind::TensorMemoryLeak:
    return "tmem-leak";
  case FindingKind::Barrier:
    return "mbarrier";
  case FindingKind::Race:
    return "race";
  case FindingKind::ProxyFence:
    return "proxy-fence";
  case FindingKind::TensorFence:
    return "tcgen05-fence";
  case FindingKind::CtaExit:
    return "cta-exit";
  case FindingKind::PhaseOverrun:
    return "phase-overrun";
  case FindingKind::SparseMetadata:
    return "sparse-metadata";
  case FindingKind::LeftOut:
    return "left-out";
  }
  return "unknown";
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
