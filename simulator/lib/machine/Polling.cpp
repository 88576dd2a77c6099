//===- Polling.cpp - Detection of polling loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Polling.h"

#include "Machine.h"
#include "WorldState.h"

#include <cstring>

using namespace mx::sim;

bool PollLog::Word::hasChanged() const {
  return std::memcmp(host, value.data(), bytes) != 0;
}

bool PollLog::hasChanged() const {
  for (const Read &r : reads)
    for (const Word &word : r.words)
      if (word.hasChanged())
        return true;
  return false;
}

/// Returns a value that increases with every wait and with every action visible
/// to other warps.
static uint64_t activityOf(const WarpStatistics &s) {
  return s.globalStoreBytes + s.sharedStoreBytes + s.tensorStoreBytes +
         s.bulkStoreBytes + s.bulkLoadBytes + s.copyBytes + s.tensorCopyBytes +
         s.mmas + s.mbarrierWaits + s.barrierWaits + s.clusterWaits;
}

/// Merges the words of all lanes; neighboring lanes often read the same word.
static std::vector<PollLog::Word> wordsOf(uint32_t mask,
                                          const uint64_t addresses[32],
                                          uint8_t *const hosts[32],
                                          uint32_t bytes) {
  std::vector<PollLog::Word> words;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    if (!words.empty() && words.back().host == hosts[lane])
      continue;
    PollLog::Word word{hosts[lane], addresses[lane], bytes, {}};
    std::memcpy(word.value.data(), hosts[lane], bytes);
    words.push_back(word);
  }
  return words;
}

static bool isSame(const std::vector<PollLog::Word> &a,
                   const std::vector<PollLog::Word> &b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](const PollLog::Word &x, const PollLog::Word &y) {
                      return x.host == y.host;
                    });
}

bool mx::sim::isPolling(Warp &w, const Instr *i, ptx::Space space,
                        uint32_t mask, const uint64_t addresses[32],
                        uint8_t *const hosts[32], uint32_t bytes) {
  if (!w.machine->parksPolls() || bytes > sizeof(PollLog::Word::value))
    return false;
  if (!w.polls)
    w.polls = std::make_unique<PollLogs>();
  PollLog &log = (*w.polls)[w.mask];
  uint64_t deeds = activityOf(w.counts);
  // Polling loops read only a few words, so longer sequences are other code.
  constexpr size_t kMostReads = 64;
  if (log.deeds != deeds || log.reads.size() == kMostReads || log.hasChanged())
    log.reads.clear();
  log.deeds = deeds;
  std::vector<PollLog::Word> words = wordsOf(mask, addresses, hosts, bytes);
  for (const PollLog::Read &r : log.reads)
    if (r.instr == i && isSame(r.words, words)) {
      w.block(i, Wait::Word);
      return true;
    }
  log.reads.push_back({i, space, std::move(words)});
  return false;
}

void mx::sim::notePoll(Warp &w) {
  if (w.polls)
    (*w.polls)[w.mask].deeds = activityOf(w.counts);
}

std::string mx::sim::describePolls(Warp &w, const PollLog &log) {
  std::string s;
  unsigned shown = 0, all = 0;
  for (const PollLog::Read &r : log.reads)
    for (const PollLog::Word &word : r.words) {
      constexpr unsigned kMostWords = 4;
      if (++all; shown == kMostWords)
        continue;
      uint64_t value = 0;
      std::memcpy(&value, word.value.data(), std::min(word.bytes, 8u));
      s += std::string(shown++ ? ", and of " : "") +
           describeAddress(w, r.space, word.address, word.bytes) +
           ", where it has read " + std::to_string(value);
    }
  if (all > shown)
    s += ", and of " + std::to_string(all - shown) + " more words";
  return s;
}
