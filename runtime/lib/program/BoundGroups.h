//===- BoundGroups.h - The groups that a program runs with ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest names groups; a process says which ranks they are. Another group
// may be bound in place of one that has ended: calls that have begun keep those
// that they began with.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
#define MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H

#include "../group/Collectives.h"
#include "mx/Plan/Plan.h"

#include <mutex>

namespace mx::runtime {

struct BoundGroup {
  /// Null where none is bound.
  std::shared_ptr<Collectives> ranks;
  /// Of the arrays of all calls.
  Device *device = nullptr;
  /// Of the group's memory, for the windows of every entry.
  size_t windowBytes = 0;
  /// No other binding has it, nor had: addresses are used again.
  int64_t serial = 0;
};

/// In the order of the manifest.
using BoundGroupList = std::vector<BoundGroup>;

class BoundGroups {
public:
  /// Collective: binds group `index` of the manifest on the device, if all
  /// ranks have the same program, which has that fingerprint. Reserves memory
  /// for the windows of every entry.
  Error bind(const plan::Manifest &manifest, size_t index,
             std::shared_ptr<Collectives> ranks, Device &device,
             uint64_t fingerprint);
  /// Those that are bound now. Null, without a lock, for a program that has no
  /// groups, and where none is bound yet.
  std::shared_ptr<const BoundGroupList> get(const plan::Manifest &manifest);

private:
  std::mutex mutex;
  std::shared_ptr<const BoundGroupList> list;
};

/// Bytes of the memory of group `index` that the windows of all entries need.
size_t getWindowBytes(const plan::Manifest &manifest, size_t index);

/// That all groups of the manifest are bound, or which function binds them.
Error checkBound(const plan::Manifest &manifest, const BoundGroupList *groups);
/// That calls with arrays of the device can be made: the groups are bound to
/// this device, have memory for all windows, and have not ended.
Error checkReady(const plan::Manifest &manifest, const BoundGroupList *groups,
                 const Device &device);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_BOUNDGROUPS_H
