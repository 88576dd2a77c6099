//===- BoundGroups.h - Rank groups bound to a program -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest names groups, and the process binds a group of ranks to each name.
// A failed group may be replaced while running calls keep the previous group.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
#define MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H

#include "../group/Collectives.h"
#include "mx/Plan/Plan.h"

#include <mutex>

namespace mx::runtime {

struct BoundGroup {
  /// Null before the first binding.
  std::shared_ptr<Collectives> ranks;
  /// Device of the arrays of all calls.
  Device *device = nullptr;
  /// Size of group memory for the windows of all entries.
  size_t windowBytes = 0;
  /// Unique number of the binding, because addresses are reused.
  int64_t serial = 0;
};

/// Groups in manifest order.
using BoundGroupList = std::vector<BoundGroup>;

class BoundGroups {
public:
  /// Collective. Binds group `index` of the manifest to the device if all ranks
  /// run the program with this fingerprint. Reserves memory for the windows of
  /// every entry.
  Error bind(const plan::Manifest &manifest, size_t index,
             std::shared_ptr<Collectives> ranks, Device &device,
             uint64_t fingerprint);
  /// Returns the bound groups, or null if the program names no groups or none
  /// is bound yet. Returns null without locking.
  std::shared_ptr<const BoundGroupList> get(const plan::Manifest &manifest);

private:
  std::mutex mutex;
  std::shared_ptr<const BoundGroupList> list;
};

/// Returns the size of group `index`'s memory for the windows of all entries.
size_t getWindowBytes(const plan::Manifest &manifest, size_t index);

/// Fails unless all groups of the manifest are bound. The error names the
/// function to call.
Error checkBound(const plan::Manifest &manifest, const BoundGroupList *groups);
/// Fails if a group failed, lacks window memory, or is bound to another device.
Error checkReady(const plan::Manifest &manifest, const BoundGroupList *groups,
                 const Device &device);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
