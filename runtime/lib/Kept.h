//===- Kept.h - Calls that a thread has made ---------------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program launches the same kernels on the same arrays again and again. What
// a call puts on the stream follows from its words: the entry, the shapes and
// numbers and addresses that it brings, and what the device may have changed.
// It was checked and computed when a call first had these words; the next one
// with all of them equal puts the same commands on its own stream.
//
// Only calls that read no number of the device and take no memory are kept.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_KEPT_H
#define MX_RUNTIME_KEPT_H

#include "Commands.h"
#include "Program.h"

namespace mx::runtime {

struct KeptCall {
  uint64_t hash = 0;
  /// None: this is no call.
  std::vector<int64_t> words;
  Commands commands;
  /// Of the results that are numbers, in order.
  std::vector<int64_t> numbers;
};

/// The latest calls of one thread.
class KeptCalls {
public:
  /// Bounds what a thread keeps: 256 calls, together 8 MiB of parameters. More
  /// than the calls of a step of a model with 60 layers, and few calls have
  /// more than a few KiB.
  static constexpr size_t kSets = 64, kWays = 4;
  static constexpr size_t kMostParameterBytes = 32 << 10;
  static constexpr size_t kMostCommands = 256;

  /// Those of this thread.
  static KeptCalls &get();

  /// The call with the words of this one; null where there is none.
  const KeptCall *find(const mxEntryImpl &entry, const Call &call);
  /// Keeps what was asked for last, unless it is too large or find() could not
  /// read it.
  void keep(const Commands &commands, const std::vector<int64_t> &numbers);

private:
  bool readWords(const mxEntryImpl &entry, const Call &call);

  std::vector<int64_t> words;
  uint64_t hash = 0;
  /// Of which each call has its place in one set; made for the first call.
  std::vector<std::array<KeptCall, kWays>> sets;
  size_t next = 0;
};

/// Whether what a call does follows from its words.
bool canKeep(const plan::Entry &entry);

} // namespace mx::runtime

#endif // MX_RUNTIME_KEPT_H
