//===- Polling.h - lanes that wait for a word to change ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a world, lanes that read the same words again by strong accesses, find the
// same values, and have done nothing else in between, need not run until one of
// the words changes. This only says who runs when: lanes that wait for other
// reasons, to count their tries for instance, go on when no device can.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_POLLING_H
#define MXSIM_LIB_MACHINE_POLLING_H

#include "Program.h"

#include <array>
#include <string>
#include <unordered_map>

namespace mx::sim {

class Warp;

/// What a group of lanes has read in vain.
struct PollLog {
  struct Word {
    const uint8_t *host;
    uint64_t address; ///< as the instruction has it
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
  /// What the warp had done by then, as a number.
  uint64_t deeds = 0;
  bool hasChanged() const;
};

/// By the lanes of the group.
using PollLogs = std::unordered_map<uint32_t, PollLog>;

/// A strong read of the running group is about to be executed. True if it is
/// one of many in vain: the group waits then.
bool isPolling(Warp &w, const Instr *i, ptx::Space space, uint32_t mask,
               const uint64_t addresses[32], uint8_t *const hosts[32],
               uint32_t bytes);
/// The read was an atomic operation that has changed nothing: no deed.
void notePoll(Warp &w);
/// Of a group that waits: what for, and what it has seen.
std::string describePolls(Warp &w, const PollLog &log);

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_POLLING_H
