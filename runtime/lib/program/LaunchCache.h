//===- LaunchCache.h - Calls that a thread has made -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program launches the same kernels on the same arrays again and again. What
// a call puts on the stream follows from its words: the entry, the shapes and
// numbers and addresses that it brings, the groups that are bound and where
// their windows are, and what the device may have changed. It was checked and
// computed when a call first had these words; the next one with all of them
// equal puts the same commands on its own stream.
//
// Only calls that read no number of the device and take no memory are kept.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H
#define MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H

#include "Commands.h"
#include "Program.h"

#include <unordered_map>

namespace mx::runtime {

struct CachedLaunch {
  /// None: this is no call.
  std::vector<int64_t> words;
  Commands commands;
  /// Of the results that are numbers, in order.
  std::vector<int64_t> numbers;
};

/// The latest calls of one thread.
class LaunchCache {
public:
  /// More than a step of a model with 60 layers has. A larger call is not kept,
  /// so that a thread keeps at most 16 MiB; mostly it is a few hundred KiB.
  static constexpr size_t kMostCalls = 256, kMostBytes = 64 << 10;

  /// Those of this thread.
  static LaunchCache &get();

  /// The call with the words of this one; null where there is none.
  const CachedLaunch *find(const Entry &entry, Device &device, const Call &call,
                           const BoundGroupList *groups);
  /// Keeps the call that was asked for last.
  void keep(const Commands &commands, const std::vector<int64_t> &numbers);

private:
  bool readWords(const Entry &entry, Device &device, const Call &call,
                 const BoundGroupList *groups);
  CachedLaunch &getPlace();

  /// Of the call that was asked for last; none where it cannot be kept.
  std::vector<int64_t> words;
  uint64_t hash = 0;
  std::unordered_map<uint64_t, CachedLaunch> calls;
  /// Their hashes in the order in which they came, from `oldest` on and around.
  std::vector<uint64_t> order;
  size_t oldest = 0;
};

/// Words of a call of an entry of the manifest.
size_t countWords(const plan::Manifest &manifest, const plan::Entry &entry);
/// Whether what a call does follows from its words.
bool canCache(const plan::Entry &entry);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H
