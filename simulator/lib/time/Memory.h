//===- Memory.h - L2 and HBM over time --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request passes the port of its SM, L2 and, for the lines that L2 does not
// hold, HBM: each has a rate in bytes a cycle, and a latency comes on top once.
// That bytes under way and throughput follow each other (Little, "A proof for
// the queuing formula L = lambda W") is a result, no input.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MEMORY_H
#define MXSIM_LIB_TIME_MEMORY_H

#include "Caches.h"
#include "Placement.h"
#include "Queue.h"

#include <array>
#include <memory>

namespace mx::sim::time {

/// Who asks: a copy engine, threads that load, those that load past L1, or
/// anyone who stores.
enum class Traffic : uint8_t { Copy, Load, Stream, Store };

class Memory {
public:
  Memory(const Chip &chip, Placement placement, double mhz,
         std::shared_ptr<std::vector<Tags>> &l2);

  struct Times {
    uint64_t far = 0;    ///< cycles more, of L2 that is not the SM's own
    uint64_t hits = 0;   ///< when the last byte has left L2
    uint64_t misses = 0; ///< the same of HBM; 0: none was needed
    /// The same of lines that others have asked HBM for, and that are under
    /// way; 0: none.
    uint64_t underWay = 0;
    /// Up to what has taken them.
    Path hitsPath, missesPath, underWayPath;
    Source hitsSource = Source::L2;
  };
  /// `pieces` leave L2 for an SM, or come from one, from `cycle` on.
  Times pass(unsigned sm, uint64_t cycle, const Path &path,
             const std::vector<Piece> &pieces, Traffic traffic);

  uint64_t lines = 0, hits = 0;
  /// Bytes a cycle of both.
  double l2Rate, hbmRate;
  /// When L2 has taken the last bytes that were stored, and the path to that.
  uint64_t stored = 0;
  Path storedPath;
  double l2Bytes() const { return moved; }
  double l2Work() const { return slices.total(); }
  double hbmBytes() const { return fetched; }

private:
  const Placement placement;
  static unsigned homeOf(uint64_t line);

  struct Found {
    Tags::Answer answer;        ///< of the part that is its home, or has it
    Tags::Line *copy = nullptr; ///< that is made in another part
    unsigned writesBack = 0;    ///< lines that had to go
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
  uint64_t window; ///< in which requests are merged; 0: they are not

  /// Work of L2 for a byte that is written or that threads load, beside one of
  /// a copy.
  double writeWork, loadWork;
  bool countsParts;    ///< of lines that are stored
  bool storesApart;    ///< stores have a rate of their own
  double portWork = 1; ///< of an SM's port, for a byte that threads load
  double copyCost;     ///< bytes of HBM for one of a copy
  uint64_t l2Spread, hbmSpread;
  double moved = 0;
  std::shared_ptr<std::vector<Tags>> tags;
  uint64_t fillLatency; ///< from HBM into L2
  std::vector<Tags::Line *> missed;
  uint64_t farLatency; ///< 0 where all of L2 is one
  std::vector<Queue> ports;
  std::vector<Queue> outputs; ///< what comes out of each part of L2 for its SMs
  Queue slices;               ///< L2 itself
  Queue stores;               ///< bytes that are stored
  Queue input;                ///< parts of lines that are stored
  /// HBM: parts of a row of addresses lie in one after the other, in an order
  /// that mixes strides. Each works alone, so that some are late.
  std::vector<Queue> channels;
  uint64_t channelLines;
  double fetched = 0;
  struct Wanted {
    size_t channel;
    double bytes;
  };
  std::vector<Wanted> wanted; ///< of HBM by a request
  void want(uint64_t line, double bytes);
  size_t channelOf(uint64_t line) const {
    return (Tags::mix(line / channelLines) >> 32) % channels.size();
  }
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MEMORY_H
