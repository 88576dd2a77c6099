//===- BoundGroups.h - Rank groups bound to a program -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest names groups; the process binds ranks to them. A failed group may
// be replaced; running calls keep their groups.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
#define MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H

#include "../group/Collectives.h"
#include "mx/Plan/Plan.h"

#include <mutex>

namespace mx::runtime {

struct BoundGroup {
  /// Null if unbound.
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
  /// Returns the bound groups. Returns null, without locking, for programs
  /// without groups and before the first binding.
  std::shared_ptr<const BoundGroupList> get(const plan::Manifest &manifest);

private:
  std::mutex mutex;
  std::shared_ptr<const BoundGroupList> list;
};

/// Returns the size of group `index`'s memory for the windows of all entries.
size_t getWindowBytes(const plan::Manifest &manifest, size_t index);

/// Fails, naming the function to call, unless all groups of the manifest are
/// bound.
Error checkBound(const plan::Manifest &manifest, const BoundGroupList *groups);
/// Fails unless all groups are bound to this device, provide memory for all
/// windows and work.
Error checkReady(const plan::Manifest &manifest, const BoundGroupList *groups,
                 const Device &device);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
