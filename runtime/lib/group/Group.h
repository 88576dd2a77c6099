//===- Group.h - Ranks that work together -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks make a group together, and each destroys it alone. A collective of
// a group that has failed returns at once with what it failed of, on all ranks
// alike. What a rank refuses ends the group, as the others wait for it; so does
// an exception in a collective. A forked child is no rank: it may only forget
// the groups of its parent.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_GROUP_H
#define MX_RUNTIME_LIB_GROUP_GROUP_H

#include "Bootstrap.h"
#include "Collectives.h"
#include "Transport.h"

#include "mx_group.h"

namespace mx::runtime {

class Group final : public Collectives {
public:
  /// On the device in use.
  static Error create(const GroupConfig &config, Device &device,
                      std::shared_ptr<Group> &group);
  ~Group() override;

  Error allGather(Device &device, void *window, size_t bytes, void *stream,
                  const char *entry, int64_t step) override;
  Error allToAll(Device &device, const void *from, void *to, size_t bytes,
                 void *stream, const char *entry, int64_t step) override;
  Error compare(std::string_view what, const void *mine, size_t bytes) override;
  Error reserveWindows(Device &device, size_t bytes) override;
  /// Collective; the memory stays the caller's.
  Error adoptWindows(void *memory, size_t bytes);
  void *windows() const override { return memory; }
  size_t windowBytes() const override { return memoryBytes; }
  Error status() const override { return control.getStatus(); }

  /// Fails in a forked child of the process that made the group.
  Error checkProcess() const;
  /// Ends the group on all ranks.
  Error abort(std::string_view why);
  Device &getDevice() const { return device; }
  const Failure *getFailure() const { return control.getFailure(); }
  mxGroupInfo getInfo() const;

private:
  Group(const GroupConfig &config, Device &device, Mesh mesh);
  Error open(std::vector<Socket> connections, std::string_view transport);
  /// Runs a collective that is alone. What it throws ends the group.
  template <typename Body>
  Error runAlone(Body body);
  template <typename Body>
  Error endOnException(Body body);
  /// Runs a collective of the transport after its arguments are checked.
  template <typename Run>
  Error perform(Device &device, Operation operation, const void *first,
                const void *second, void *stream, Run run);
  Error check(Device &device, const Operation &operation, const void *first,
              const void *second, void *stream) const;
  /// Ends the group, as this rank cannot go on.
  Error refuse(const Operation &operation, Error reason);
  Error compareAlone(std::string_view what, const void *mine, size_t bytes);
  Error reserveAlone(Device &device, size_t bytes);
  /// Collective: the error of the first rank that has one, on all of them.
  Error agree(std::string_view what, const Error &mine);

  const uint32_t forks = getForkCount();
  Device &device;
  Control control;
  Wire wire;
  Links links;
  std::unique_ptr<Transport> transport;
  /// One collective at a time.
  std::mutex mutex;
  std::atomic<void *> memory = nullptr;
  std::atomic<size_t> memoryBytes = 0;
  /// Windows that were reserved, also those that larger ones have replaced: a
  /// CUDA graph may have their addresses.
  std::vector<void *> reserved;
};

/// The group of a handle, which stays while this does.
Error findGroup(mxGroup handle, std::shared_ptr<Group> &group);
mxGroup addGroup(std::shared_ptr<Group> group);
/// Takes the handle away.
Error removeGroup(mxGroup handle);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_GROUP_H
