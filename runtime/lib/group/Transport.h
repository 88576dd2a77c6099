//===- Transport.h - How the bytes of collectives travel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_TRANSPORT_H
#define MX_RUNTIME_LIB_GROUP_TRANSPORT_H

#include "Wire.h"

namespace mx::runtime {

/// The connections of a rank, whatever the transport.
class Links {
public:
  Links(Device &device, Control &control, Wire &wire)
      : device(device), control(control), wire(wire) {}

  /// Collective, of memory of the host: `all` gets `bytes` of each rank, in
  /// their order. `what` stands in messages.
  Error exchange(std::string_view what, const void *mine, size_t bytes,
                 void *all);
  /// Marks the begin and the end of a collective, which gets the next number.
  Operation begin(Operation operation);
  void end();
  /// Where the host of this rank is.
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
  /// Of NCCL; 0 where there is none.
  virtual int getVersion() const { return 0; }
  /// Collective, once all ranks are connected.
  virtual Error open() { return {}; }
  /// Waits until all that was begun here has ended, as long as the time-out.
  virtual void close() {}

  virtual Error allGather(const Operation &operation, void *window,
                          void *stream) = 0;
  virtual Error allToAll(const Operation &operation, const void *from, void *to,
                         void *stream) = 0;
  Place getPlace() override { return links.getPlace(); }

protected:
  Links &links;
};

/// For a group of one rank.
std::unique_ptr<Transport> makeLocalTransport(Links &links);
/// By copies to the host and the connections of the group: for simulated
/// devices, and for GPUs where there is no NCCL.
std::unique_ptr<Transport> makeHostTransport(Links &links);
/// By NCCL, on the stream of the caller.
std::unique_ptr<Transport> makeNcclTransport(Links &links);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_TRANSPORT_H
