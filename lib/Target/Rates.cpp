//===- Rates.cpp - how fast each part of a chip works ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All chips with tcgen05 share the table of the B200: no other was measured in
// public.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/Rates.h"
#include "mx/Target/MmaShapes.h"

using namespace mx::target;

const Rates &mx::target::getRates(const TargetInfo &) {
  static constexpr Rates rates;
  return rates;
}

unsigned mx::target::mmaCycles(const Rates &rates, unsigned n) {
  return (n + rates.mmaColumnsPerClk - 1) / rates.mmaColumnsPerClk;
}

unsigned mx::target::mmaPortCycles(const Rates &rates, unsigned ctaGroup,
                                   unsigned n) {
  constexpr unsigned kRowsOfA = 128;
  unsigned bytes = (kRowsOfA + n / ctaGroup) * kMmaKBytes;
  return (bytes + rates.smemReadBytesPerClk - 1) / rates.smemReadBytesPerClk;
}
