//===- Queue.h - Contended rates with their causes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_QUEUE_H
#define MXSIM_LIB_TIME_QUEUE_H

#include "../clocks/Path.h"
#include "Calendar.h"

namespace mx::sim::time {

/// Cause of a busy resource: the path of the last request that found the
/// resource idle. Waiting requests continue that path.
class Busy {
public:
  /// Returns the path of a request at `cycle`.
  const Path &serve(uint64_t cycle, bool hasToWait, const Path &asker) {
    if (!hasToWait || since.cycle() > cycle)
      since = asker;
    return since;
  }

private:
  Path since;
};

/// Rate that records why it is busy.
class Queue {
public:
  explicit Queue(double perCycle = 1) : rate(perCycle) {}

  /// Reserves like Rate::take. Afterwards path() is the request's path up to
  /// its service.
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
