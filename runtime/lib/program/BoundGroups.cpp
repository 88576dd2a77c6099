//===- BoundGroups.cpp - Rank groups bound to a program -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BoundGroups.h"

#include <algorithm>
#include <atomic>

using namespace mx;
using namespace mx::runtime;

/// Serial number of the latest binding. Never decreases.
static std::atomic<int64_t> groupSerials;

static std::string describe(const plan::RankGroup &group) {
  return "group '" + group.name + "'";
}

size_t mx::runtime::getWindowBytes(const plan::Manifest &manifest,
                                   size_t index) {
  int64_t bytes = 0;
  for (const plan::Entry &entry : manifest.entries)
    for (const plan::Window &window : entry.windows)
      if (window.group == index)
        // The manifest reader limits both values, so the sum cannot overflow.
        bytes = std::max(bytes, window.offset + window.bytes);
  return size_t(bytes);
}

Error BoundGroups::bind(const plan::Manifest &manifest, size_t index,
                        std::shared_ptr<Collectives> ranks, Device &device,
                        uint64_t fingerprint) {
  const plan::RankGroup &group = manifest.groups[index];
  if (ranks->size != group.size)
    return invalidValue(
        describe(group) + ": expected the " + std::to_string(group.size) +
        " ranks for which the program was compiled, found " +
        std::to_string(ranks->size) + ": recompile for this number");
  // No lock is held while waiting for other ranks.
  if (Error error =
          ranks->compare("the hash of the manifest and the mx version",
                         &fingerprint, sizeof fingerprint))
    return error;
  size_t bytes = getWindowBytes(manifest, index);
  if (Error error = ranks->reserveWindows(device, bytes))
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  auto changed = list ? std::make_shared<BoundGroupList>(*list)
                      : std::make_shared<BoundGroupList>();
  changed->resize(manifest.groups.size());
  (*changed)[index] = {std::move(ranks), &device, bytes, ++groupSerials};
  list = std::move(changed);
  return {};
}

std::shared_ptr<const BoundGroupList>
BoundGroups::get(const plan::Manifest &manifest) {
  if (manifest.groups.empty())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  return list;
}

Error mx::runtime::checkBound(const plan::Manifest &manifest,
                              const BoundGroupList *groups) {
  for (size_t i = 0; i < manifest.groups.size(); ++i)
    if (!groups || !(*groups)[i].ranks)
      return invalidValue("expected a program that is bound to its " +
                          describe(manifest.groups[i]) + " of " +
                          std::to_string(manifest.groups[i].size) +
                          " ranks, found an unbound program: call "
                          "mxProgramBindGroup (in Python Program.bind) on each "
                          "rank");
  return {};
}

Error mx::runtime::checkReady(const plan::Manifest &manifest,
                              const BoundGroupList *groups,
                              const Device &device) {
  if (Error error = checkBound(manifest, groups))
    return error;
  for (size_t i = 0; i < manifest.groups.size(); ++i) {
    const BoundGroup &bound = (*groups)[i];
    if (Error error = bound.ranks->status())
      return error;
    if (bound.device != &device)
      return invalidValue(describe(manifest.groups[i]) +
                          ": expected a call on " + bound.device->name() +
                          ", where the group was bound, found a call on " +
                          device.name());
    size_t found = bound.ranks->windowBytes();
    if (found < bound.windowBytes)
      return invalidValue(describe(manifest.groups[i]) +
                          ": expected memory of at least " +
                          std::to_string(bound.windowBytes) +
                          " bytes for windows, found " + std::to_string(found));
  }
  return {};
}
