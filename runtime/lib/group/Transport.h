//===- Transport.h - Transports of collectives ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_TRANSPORT_H
#define MX_RUNTIME_LIB_GROUP_TRANSPORT_H

#include "Wire.h"

namespace mx::runtime {

/// Connections of a rank, independent of the transport.
class Links {
public:
  Links(Device &device, Control &control, Wire &wire)
      : device(device), control(control), wire(wire) {}

  /// Collective. Fills `all`, in host memory, with `bytes` bytes from every
  /// rank in rank order. `what` is used in messages.
  Error exchange(std::string_view what, const void *mine, size_t bytes,
                 void *all);
  /// Collective. Returns the error of the lowest failed rank on all ranks.
  Error agree(std::string_view what, const Error &mine);
  /// Mark the start and end of a collective. `begin` assigns the next number.
  Operation begin(Operation operation);
  void end();
  /// Returns the position of this rank's host.
  Place getPlace();

  Device &device;
  Control &control;
  Wire &wire;

private:
  std::mutex mutex;
  Place place;
  uint64_t sequence = 0;
};

class Transport : public Control::Watcher {
public:
  explicit Transport(Links &links) : links(links) {}
  virtual const char *getName() const = 0;
  /// Returns the NCCL version, or 0 without NCCL.
  virtual int getVersion() const { return 0; }
  /// Collective. Called once all ranks are connected.
  virtual Error open() { return {}; }
  /// Waits for all operations of this rank, within the time-out.
  virtual void close() {}

  /// Collective. Uses memory of equal size on all ranks for windows.
  virtual Error setWindows(void *, size_t) { return {}; }
  virtual Error allGather(const Operation &operation, void *window,
                          void *stream) = 0;
  virtual Error allToAll(const Operation &operation, const void *from, void *to,
                         void *stream) = 0;
  /// Only called if getPeers() returns an array (see Collectives).
  virtual Error barrier(const Operation &, void *) { return {}; }
  virtual const void *getPeers() const { return nullptr; }
  Place getPlace() override { return links.getPlace(); }

protected:
  Links &links;
};

/// Creates the transport for a group of one rank.
std::unique_ptr<Transport> makeLocalTransport(Links &links);
/// Creates a transport based on copies through host memory and the group's
/// connections, for simulated devices and for GPUs without NCCL.
std::unique_ptr<Transport> makeHostTransport(Links &links);
/// Creates a transport based on NCCL collectives on the caller's stream, and on
/// copies into windows of peers, depending on `wanted` (see PeerWindows).
std::unique_ptr<Transport> makeNcclTransport(Links &links,
                                             std::string_view wanted);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_TRANSPORT_H
