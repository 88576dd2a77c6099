//===- Timed.h - Scheduler of timed launches --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the clusters of a machine in place of the machine's own scheduler.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIMED_TIMED_H
#define MXSIM_LIB_TIMED_TIMED_H

#include "../machine/Machine.h"

namespace mx::sim {

class Recording;
namespace time {
class Model;
} // namespace time

class TimedLaunch final : public Timing {
public:
  /// `recording` receives the instruction counts of the shards.
  TimedLaunch(Machine &machine, Recording &recording);
  ~TimedLaunch() override;

  std::string explainMisfit() const override;
  void begin() override;
  bool isParallel() const override;
  void start(Cluster &c) override;
  void run() override;
  void complete(const AsyncIssuer &issuer, bool needsTurn,
                AsyncQueue::Action action) override;
  uint64_t nanosecondsOf(uint64_t cycle) const override;

private:
  void leaveOut();
  void makeShards();
  void startWaiting(uint64_t cycle, time::Path path, time::Cause cause);
  void startWarps(Cta &cta, uint64_t cycle, const time::Path &path);
  void runWindow(uint64_t begin);
  void exchange();
  void retireEnded();
  void collectAll();
  bool releaseWaits();
  bool isStuck() const;
  bool endWaits(uint64_t cycle);

  Machine &machine;
  const LaunchConfig &config;
  Recording &recording;
  std::unique_ptr<time::Model> model;
  std::vector<std::unique_ptr<Shard>> shards;
  std::vector<Shard *> shardOf; ///< indexed by SM
  uint64_t testsAlone = 0;      ///< try_waits timed out without another event
  uint64_t lastCycle = 0;       ///< latest end of a CTA
  time::Path lastPath;
};

} // namespace mx::sim

#endif // MXSIM_LIB_TIMED_TIMED_H
