//===- Memory.h - Timing of L2 and HBM --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request passes the port of its SM, L2 and, on a miss, HBM. Each has a rate
// in bytes per cycle. The latency is added once for each request. The
// throughput for given bytes in flight follows from rate and latency (Little,
// "A proof for the queuing formula L = lambda W") and is not an input.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MEMORY_H
#define MXSIM_LIB_TIME_MEMORY_H

#include "Caches.h"
#include "Placement.h"
#include "Queue.h"

#include <array>
#include <memory>

namespace mx::sim::time {

/// Source of a request: copy engine, load through L1, load that bypasses L1, or
/// store.
enum class Traffic : uint8_t { Copy, Load, Stream, Store };

class Memory {
public:
  Memory(const Chip &chip, Placement placement, double mhz,
         std::shared_ptr<std::vector<Tags>> &l2);

  struct Times {
    uint64_t far = 0;    ///< extra cycles for data in the other half of L2
    uint64_t hits = 0;   ///< cycle at which the last byte leaves L2
    uint64_t misses = 0; ///< the same for HBM; 0 without misses
    /// Arrival of the last line already in flight from HBM for an earlier
    /// request; 0 if there is no such line.
    uint64_t underWay = 0;
    /// Paths up to these cycles.
    Path hitsPath, missesPath, underWayPath;
    Source hitsSource = Source::L2;
  };
  /// Moves `pieces` between L2 and the SM, starting at `cycle`.
  Times pass(unsigned sm, uint64_t cycle, const Path &path,
             const std::vector<Piece> &pieces, Traffic traffic);

  uint64_t lines = 0, hits = 0;
  /// Rates in bytes per cycle.
  double l2Rate, hbmRate;
  /// Cycle at which L2 has accepted the last stored byte, with its path.
  uint64_t stored = 0;
  Path storedPath;
  double l2Bytes() const { return moved; }
  double l2Work() const { return slices.total(); }
  double hbmBytes() const { return fetched; }

private:
  const Placement placement;
  static unsigned homeOf(uint64_t line);

  struct Found {
    Tags::Answer answer;        ///< lookup in the home half or the SM's half
    Tags::Line *copy = nullptr; ///< copy allocated in the other half
    unsigned writesBack = 0;    ///< number of evicted dirty lines
  };
  Found look(unsigned sm, uint64_t line, Traffic traffic);
  double spreadOf(unsigned sm, uint64_t line, bool isHit) const;
  bool isMerged(unsigned sm, uint64_t cycle, uint64_t line);
  void prefetch(unsigned sm, uint64_t line) const;

  static constexpr unsigned kRecent = 1u << 13;
  struct Asked {
    uint64_t line = 0, cycle = 0;
  };
  static size_t placeOf(uint64_t line) {
    return Tags::mix(line) >> 20 & (kRecent - 1);
  }
  std::vector<std::vector<Asked>> recent;
  uint64_t window; ///< cycles in which requests are merged, or 0

  /// L2 work for a stored byte and for a byte loaded by threads, relative to a
  /// byte of a copy.
  double writeWork, loadWork;
  bool countsParts;    ///< count partial lines of stores
  bool storesApart;    ///< stores have their own rate
  double portWork = 1; ///< port work for a byte loaded by threads
  double copyCost;     ///< HBM bytes for a byte of a copy
  uint64_t l2Spread, hbmSpread;
  double moved = 0;
  std::shared_ptr<std::vector<Tags>> tags;
  uint64_t fillLatency; ///< added for a fill from HBM into L2
  std::vector<Tags::Line *> missed;
  uint64_t farLatency; ///< 0 if L2 is not divided
  std::vector<Queue> ports;
  std::vector<Queue> outputs; ///< output of each half of L2 to its SMs
  Queue slices;               ///< L2 as a whole
  Queue stores;               ///< stored bytes
  Queue input;                ///< partial lines of stores
  /// HBM channels. Consecutive addresses alternate between channels in a hashed
  /// order. Channels are independent, so their load is uneven.
  std::vector<Queue> channels;
  uint64_t channelLines;
  double fetched = 0;
  struct Wanted {
    size_t channel;
    double bytes;
  };
  std::vector<Wanted> wanted; ///< HBM bytes of the current request
  void want(uint64_t line, double bytes);
  size_t channelOf(uint64_t line) const {
    return (Tags::mix(line / channelLines) >> 32) % channels.size();
  }
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MEMORY_H
