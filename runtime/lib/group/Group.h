//===- Group.h - Group of ranks ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks create a group together, and each rank destroys one handle. After a
// failure every collective returns at once with the same error on all ranks.
// Argument errors and exceptions in a collective end the group, because the
// other ranks would wait forever. A forked child is not a rank and may only
// destroy the parent's groups.
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
  /// Collective. Creates a group on `device`, the current device.
  static Error create(const GroupConfig &config, Device &device,
                      std::shared_ptr<Group> &group);
  ~Group() override;

  Error allGather(Device &device, void *window, size_t bytes, void *stream,
                  const char *entry, int64_t step) override;
  Error allToAll(Device &device, const void *from, void *to, size_t bytes,
                 void *stream, const char *entry, int64_t step) override;
  Error barrier(Device &device, void *stream, const char *entry,
                int64_t step) override;
  const void *peers() const override { return transport->getPeers(); }
  Lane *lane() override { return size > 1 ? &ownLane : nullptr; }
  Error compare(std::string_view what, const void *mine, size_t bytes) override;
  Error reserveWindows(Device &device, size_t bytes) override;
  /// Collective. Uses memory for windows that the caller owns.
  Error adoptWindows(void *memory, size_t bytes);
  void *windows() const override { return memory; }
  size_t windowBytes() const override { return memoryBytes; }
  Error status() const override { return control.getStatus(); }

  /// Fails in a forked child of the process that created the group.
  Error checkProcess() const;
  /// Ends the group on all ranks.
  Error abort(std::string_view why);
  Device &getDevice() const { return device; }
  const Failure *getFailure() const { return control.getFailure(); }
  mxGroupInfo getInfo() const;

private:
  Group(const GroupConfig &config, Device &device, Mesh mesh);
  Error open(std::vector<Socket> connections, std::string_view transport);
  /// Runs a collective under the lock. An exception ends the group.
  template <typename Body>
  Error runAlone(Body body);
  template <typename Body>
  Error endOnException(Body body);
  /// Checks arguments and runs a collective of the transport.
  template <typename Run>
  Error perform(Device &device, Operation operation, const void *first,
                const void *second, void *stream, Run run);
  Error check(Device &device, const Operation &operation, const void *first,
              const void *second, void *stream) const;
  /// Ends the group because this rank cannot continue.
  Error refuse(const Operation &operation, Error reason);
  Error compareAlone(std::string_view what, const void *mine, size_t bytes);
  Error reserveAlone(Device &device, size_t bytes);

  const uint32_t forks = getForkCount();
  Device &device;
  Control control;
  Wire wire;
  Links links;
  std::unique_ptr<Transport> transport;
  Lane ownLane;
  /// Serializes collectives.
  std::mutex mutex;
  std::atomic<void *> memory = nullptr;
  std::atomic<size_t> memoryBytes = 0;
  /// Reserved windows, including replaced windows still used by a CUDA graph.
  std::vector<void *> reserved;
};

/// Finds the group of a handle and keeps the group alive.
Error findGroup(mxGroup handle, std::shared_ptr<Group> &group);
mxGroup addGroup(std::shared_ptr<Group> group);
/// Removes the handle.
Error removeGroup(mxGroup handle);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_GROUP_H
