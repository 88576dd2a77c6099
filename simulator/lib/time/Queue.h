//===- Queue.h - what many wait for -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_QUEUE_H
#define MXSIM_LIB_TIME_QUEUE_H

#include "../clocks/Path.h"
#include "Calendar.h"

namespace mx::sim::time {

/// Why something is busy: the path of the request that found it idle. It has
/// worked since then, so that who waits for it goes on from there.
class Busy {
public:
  /// A request at `cycle`. The path on which it is served.
  const Path &serve(uint64_t cycle, bool hasToWait, const Path &asker) {
    if (!hasToWait || since.cycle() > cycle)
      since = asker;
    return since;
  }

private:
  Path since;
};

/// A rate, and why it is busy.
class Queue {
public:
  explicit Queue(double perCycle = 1) : rate(perCycle) {}

  /// As Rate::take; path() is that of the request afterwards, up to where the
  /// rate has taken it.
  uint64_t take(uint64_t cycle, double amount, const Path &asker) {
    uint64_t end = rate.take(cycle, amount);
    bool hasToWait = end > cycle + rate.least(amount) + Rate::kBucket;
    served = busy.serve(cycle, hasToWait, asker);
    return end;
  }
  const Path &path() const { return served; }
  double total() const { return rate.total; }

private:
  Rate rate;
  Busy busy;
  Path served;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_QUEUE_H
