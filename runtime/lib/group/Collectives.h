//===- Collectives.h - What programs ask of a group -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a group run the same program. Each calls the same functions in
// the same order; those that say so are collective.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_COLLECTIVES_H
#define MX_RUNTIME_LIB_GROUP_COLLECTIVES_H

#include "../Device.h"
#include "mx_group.h"

namespace mx::runtime {

class Collectives {
public:
  Collectives(std::string name, int rank, int size)
      : name(std::move(name)), rank(rank), size(size) {}
  virtual ~Collectives() = default;

  const std::string name;
  const int rank, size;

  /// Collective: segment s of `window`, `bytes` long, becomes what rank s has
  /// there. In the order of the stream. `entry` and `step` stand in messages.
  virtual Error allGather(Device &device, void *window, size_t bytes,
                          void *stream, const char *entry, int64_t step) = 0;
  /// Collective: segment d of `from`, `bytes` long, goes to segment `rank` of
  /// `to` on rank d. The two do not overlap.
  virtual Error allToAll(Device &device, const void *from, void *to,
                         size_t bytes, void *stream, const char *entry,
                         int64_t step) = 0;
  /// Collective: the same bytes on all ranks, or MX_ERROR_MISMATCH, which names
  /// two ranks and what they have. Either way the group goes on.
  virtual Error compare(std::string_view what, const void *mine,
                        size_t bytes) = 0;
  /// Collective: memory for windows of at least `bytes` on `device`.
  virtual Error reserveWindows(Device &device, size_t bytes) = 0;
  virtual void *windows() const = 0;
  virtual size_t windowBytes() const = 0;
  /// What the group died of; does not wait.
  virtual Error status() const = 0;
};

/// The group of a handle, which stays while this does, or that it is none.
Error findCollectives(mxGroup handle, std::shared_ptr<Collectives> &ranks);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_COLLECTIVES_H
