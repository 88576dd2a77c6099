//===- Readiness.cpp - Readiness of registers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Readiness.h"

using namespace mx::sim::time;

Moment Readiness::awaitEach(RegisterRange read, Moment due, uint64_t horizon) {
  bool isSettled = due.cycle() >= settled;
  for (const RegisterPart &part : read) {
    uint64_t &bits = recent[part.word];
    for (uint64_t left = isSettled ? part.bits & bits : part.bits; left;
         left &= left - 1) {
      Moment ready = of(part, left);
      due = std::max(due, ready);
      if (ready.cycle() >= horizon)
        continue;
      settled = std::max(settled, ready.cycle() + 1);
      bits &= ~(left & -left);
    }
  }
  return due;
}
