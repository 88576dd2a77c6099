//===- Polling.h - Detection of polling loops -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of lanes is suspended if it repeats strong reads of the same words,
// reads the same values, and does nothing else in between. The group resumes
// when a word changes. This affects scheduling only: lanes that loop for other
// reasons, for instance to count retries, resume once nothing can make
// progress. Timed launches suspend no lanes.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_POLLING_H
#define MXSIM_LIB_MACHINE_POLLING_H

#include "Program.h"

#include <array>
#include <string>
#include <unordered_map>

namespace mx::sim {

class Warp;

struct PollLog {
  struct Word {
    const uint8_t *host;
    uint64_t address; ///< address operand of the instruction
    uint32_t bytes;
    std::array<uint8_t, 32> value;
    bool hasChanged() const;
  };
  struct Read {
    const Instr *instr;
    ptx::Space space;
    std::vector<Word> words;
  };
  std::vector<Read> reads;
  /// Activity of the warp at the time of the reads.
  uint64_t deeds = 0;
  bool hasChanged() const;
};

/// Logs, indexed by the lane mask of the group.
using PollLogs = std::unordered_map<uint32_t, PollLog>;

/// Records a strong read before its execution. Returns true if the read belongs
/// to a polling loop. The group must then wait.
bool isPolling(Warp &w, const Instr *i, ptx::Space space, uint32_t mask,
               const uint64_t addresses[32], uint8_t *const hosts[32],
               uint32_t bytes);
/// Records an atomic operation that changed no value, so it is not an action.
void notePoll(Warp &w);
/// Describes the words polled by a waiting group and their values.
std::string describePolls(Warp &w, const PollLog &log);

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_POLLING_H
