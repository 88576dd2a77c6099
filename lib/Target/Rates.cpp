//===- Rates.cpp - how fast each part of a chip works ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A row for each chip whose schedules a model chooses. Of those, only the B200
// was measured in public.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/Rates.h"
#include "mx/Target/MmaShapes.h"
#include <string_view>

using namespace mx::target;

namespace {

constexpr Rates kB200;

/// The H200, measured by benchmarks/chip (docs/ChipSpeed.md) but for the size
/// of the cache: loads by the copy engine, a hand-over by an mbarrier, and what
/// a box takes from L2 and from HBM. What is not here is assumed to be as on
/// the B200.
constexpr Rates h200() {
  Rates rates;
  rates.l2BytesPerClk = 4700;
  rates.l2Bytes = 50u << 20;
  rates.hbmBytesPerClk = 2070;
  rates.handOver = 75;
  rates.loadLatency = 354 + rates.handOver;
  rates.missLatency = 913 - 354;
  return rates;
}
constexpr Rates kH200 = h200();

struct ChipRates {
  const char *chip;
  const Rates *rates;
};

constexpr ChipRates kRates[] = {
    {"sm_100a", &kB200},
    {"sm_100f", &kB200},
    // The B300 as if it were a B200: no rates of its own are published.
    {"sm_103a", &kB200},
    {"sm_90a", &kH200},
};

} // namespace

const Rates *mx::target::lookupRates(const TargetInfo &target) {
  for (const ChipRates &row : kRates)
    if (std::string_view(row.chip) == target.chip)
      return row.rates;
  return nullptr;
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
