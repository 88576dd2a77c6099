//===- RandomDescriptor.h - Random instruction descriptors ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_TARGET_RANDOMDESCRIPTOR_H
#define MX_UNITTESTS_TARGET_RANDOMDESCRIPTOR_H

#include "mx/Target/Descriptors.h"

#include <random>

namespace mx::target {

/// Returns a descriptor with random fields, legal or not.
inline InstrDescriptor randomDescriptor(std::mt19937 &engine) {
  InstrDescriptor desc;
  desc.kind = MmaKind(engine() % kNumMmaKinds);
  desc.ctaGroup = 1 + engine() % 2;
  desc.m = 64u << engine() % 3;
  desc.n = 8 * (1 + engine() % 32);
  desc.a = MmaType(engine() % kNumMmaTypes);
  desc.b = MmaType(engine() % kNumMmaTypes);
  desc.d = AccumulatorType(engine() % 3);
  uint32_t flags = engine();
  desc.negateA = flags & 1;
  desc.negateB = flags & 2;
  desc.transposeA = flags & 4;
  desc.transposeB = flags & 8;
  desc.saturate = (flags & 0x70) == 0;
  if (getInfo(desc.kind).blockScaled) {
    desc.blockSize = flags & 0x80 ? 16 : 32;
    desc.scaleFormat = flags & 0x100 ? FloatFormat::E8M0 : FloatFormat::UE4M3;
    desc.scaleIdA = flags >> 9 & 3;
    desc.scaleIdB = flags >> 11 & 3;
  }
  return desc;
}

} // namespace mx::target

#endif // MX_UNITTESTS_TARGET_RANDOMDESCRIPTOR_H
