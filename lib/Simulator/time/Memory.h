//===- Memory.h - L2 and HBM over time --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request passes the port of its SM, L2 and, for the lines that L2 does not
// hold, HBM: each has a rate in bytes a cycle, and a latency comes on top once.
// That bytes under way and throughput follow each other (Little, "A proof for
// the queuing formula L = lambda W") is a result, no input.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_MEMORY_H
#define MX_LIB_SIMULATOR_TIME_MEMORY_H

#include "Caches.h"
#include "Queue.h"

#include <memory>

namespace mx::sim::time {

class Memory {
public:
  Memory(const Chip &chip, unsigned multiprocessors, double mhz,
         std::shared_ptr<Tags> &l2);

  struct Times {
    uint64_t far = 0;          ///< cycles more, of L2 that is not the SM's own
    uint64_t hits = 0;         ///< when the last byte has left L2
    uint64_t misses = 0;       ///< the same of HBM; 0: none was needed
    Path hitsPath, missesPath; ///< up to what has taken them
    Source hitsSource = Source::L2;
  };
  /// `pieces` leave L2 for an SM, or come from one, from `cycle` on.
  /// `cost`: bytes of HBM for each that is asked for.
  Times pass(unsigned sm, uint64_t cycle, const Path &path,
             const std::vector<Piece> &pieces, bool isWrite, double cost = 1);

  uint64_t lines = 0, hits = 0;
  /// Bytes a cycle of both.
  double l2Rate, hbmRate;
  double l2Bytes() const { return output.total(); }
  double hbmBytes() const { return channels.total(); }

private:
  bool isFar(unsigned sm, uint64_t line) const;

  std::shared_ptr<Tags> tags;
  uint64_t farLatency; ///< 0 where all of L2 is one
  std::vector<Queue> ports;
  Queue output, channels;
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_MEMORY_H
