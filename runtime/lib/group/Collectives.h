//===- Collectives.h - Operations of a group for programs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks of a group call the collective functions in the same order.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_COLLECTIVES_H
#define MX_RUNTIME_LIB_GROUP_COLLECTIVES_H

#include "../device/Lane.h"
#include "mx_group.h"

namespace mx::runtime {

class Collectives {
public:
  Collectives(std::string name, int rank, int size)
      : name(std::move(name)), rank(rank), size(size) {}
  virtual ~Collectives() = default;

  const std::string name;
  const int rank, size;

  /// Collective, stream-ordered. Fills segment s of `window` with segment s of
  /// rank s. A segment is `bytes` long. Messages contain `entry` and `step`.
  virtual Error allGather(Device &device, void *window, size_t bytes,
                          void *stream, const char *entry, int64_t step) = 0;
  /// Collective, stream-ordered. Copies segment d of `from` to segment `rank`
  /// of `to` on rank d. A segment is `bytes` long. The buffers must not
  /// overlap.
  virtual Error allToAll(Device &device, const void *from, void *to,
                         size_t bytes, void *stream, const char *entry,
                         int64_t step) = 0;
  /// Collective, stream-ordered. Orders all work of all ranks before the
  /// barrier before all work after it, including accesses to windows of peers.
  /// Requires peers().
  virtual Error barrier(Device &device, void *stream, const char *entry,
                        int64_t step) = 0;
  /// Device array of `size` 64-bit integers, or null if the ranks cannot map
  /// each other's windows. Element r is the distance in bytes from a window of
  /// this rank to the same window of rank r.
  virtual const void *peers() const = 0;
  /// Stream for collectives beside the caller's stream, or null if collectives
  /// run on the caller's stream only.
  virtual Lane *lane() { return nullptr; }
  /// Collective. Fails with MX_ERROR_MISMATCH, naming two ranks and their
  /// values, unless all ranks pass the same bytes. The group keeps working
  /// after a mismatch.
  virtual Error compare(std::string_view what, const void *mine,
                        size_t bytes) = 0;
  /// Collective. Reserves at least `bytes` of window memory on `device`.
  virtual Error reserveWindows(Device &device, size_t bytes) = 0;
  virtual void *windows() const = 0;
  virtual size_t windowBytes() const = 0;
  /// Returns the failure of the group without waiting.
  virtual Error status() const = 0;
};

/// Finds the group of a handle and keeps it alive. Fails for a stale handle.
Error findCollectives(mxGroup handle, std::shared_ptr<Collectives> &ranks);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_COLLECTIVES_H
