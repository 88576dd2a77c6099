//===- LaunchCache.h - Cache of a thread's calls ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs repeat the same launches on the same arrays. The *words* of a call
// determine its commands: the entry, shapes, numbers and addresses, the bound
// groups and their windows, and mutable device settings. The first call with
// given words is checked and computed. Later calls with equal words submit the
// same commands to their own stream.
//
// Only calls that read no number from the device and allocate no memory are
// cached.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H
#define MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H

#include "Commands.h"
#include "Program.h"

#include <unordered_map>

namespace mx::runtime {

struct CachedLaunch {
  /// Words of the call; empty if the slot is invalid.
  std::vector<int64_t> words;
  Commands commands;
  /// Number results, in order.
  std::vector<int64_t> numbers;
};

/// Recent calls of a thread.
class LaunchCache {
public:
  /// `kMostCalls` exceeds the number of calls in a step of a 60-layer model.
  /// Calls with more than `kMostBytes` are not cached, so a thread uses at most
  /// 16 MiB, usually a few hundred KiB.
  static constexpr size_t kMostCalls = 256, kMostBytes = 64 << 10;

  /// Returns the cache of this thread.
  static LaunchCache &get();

  /// Returns the cached call with equal words, or null.
  const CachedLaunch *find(const Entry &entry, Device &device, const Call &call,
                           const BoundGroupList *groups);
  /// Caches the call of the last find().
  void keep(const Commands &commands, const std::vector<int64_t> &numbers);

private:
  bool readWords(const Entry &entry, Device &device, const Call &call,
                 const BoundGroupList *groups);
  CachedLaunch &getPlace();

  /// Words of the last find(); empty if not cacheable.
  std::vector<int64_t> words;
  uint64_t hash = 0;
  std::unordered_map<uint64_t, CachedLaunch> calls;
  /// Hashes in insertion order, a ring that starts at `oldest`.
  std::vector<uint64_t> order;
  size_t oldest = 0;
};

/// Returns the number of words for a call of the entry.
size_t countWords(const plan::Manifest &manifest, const plan::Entry &entry);
/// Returns true if the words determine the call.
bool canCache(const plan::Entry &entry);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_LAUNCHCACHE_H
