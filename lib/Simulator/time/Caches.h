//===- Caches.h - which lines a cache holds ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_CACHES_H
#define MX_LIB_SIMULATOR_TIME_CACHES_H

#include "Transfer.h"

#include <algorithm>

namespace mx::sim::time {

/// Tags of lines, with the one that was used longest ago as the next to go.
class Tags {
public:
  explicit Tags(uint64_t bytes)
      : sets(std::max<uint64_t>(1, bytes / kLineBytes / kWays)),
        lines(sets * kWays) {}

  struct Line {
    uint64_t tag = 0, used = 0; ///< tag 0: none
    uint64_t filled = 0;        ///< for the owner: when its bytes came
    bool isDirty = false;
  };
  struct Answer {
    Line *line;
    bool isHit = false;
    /// A line that was written had to go.
    bool writesBack = false;
  };
  /// All bytes are there.
  void settle() {
    for (Line &line : lines)
      line.filled = 0;
  }
  /// `line`: an address divided by kLineBytes.
  Answer touch(uint64_t line, bool isWrite) {
    Line *set = &lines[mix(line) % sets * kWays];
    Line *oldest = set;
    for (Line *l = set; l != set + kWays; ++l) {
      if (l->tag == line + 1) {
        l->used = ++clock;
        l->isDirty |= isWrite;
        return {l, true, false};
      }
      if (l->used < oldest->used)
        oldest = l;
    }
    Answer answer{oldest, false, oldest->isDirty};
    *oldest = {line + 1, ++clock, 0, isWrite};
    return answer;
  }

  /// As the chip spreads addresses over slices: no stride falls into few sets.
  static uint64_t mix(uint64_t line) {
    line *= 0x9e3779b97f4a7c15ull;
    return line ^ line >> 29;
  }

private:
  static constexpr unsigned kWays = 16;
  uint64_t sets, clock = 0;
  std::vector<Line> lines;
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_CACHES_H
