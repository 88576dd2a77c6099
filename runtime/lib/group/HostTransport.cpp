//===- HostTransport.cpp - Collectives through host memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory is copied by the device, so the simulator tracks the writes.
// Host memory is accessed directly.
//===----------------------------------------------------------------------===//

#include "Transport.h"

#include <algorithm>

using namespace mx::runtime;

namespace {

/// Uninitialized host bytes.
using Bytes = std::unique_ptr<char[]>;

class HostTransport final : public Transport {
public:
  using Transport::Transport;
  const char *getName() const override { return "host"; }

  Error allGather(const Operation &operation, void *window,
                  void *stream) override {
    size_t n = operation.bytes, rank = size_t(links.control.rank),
           size = size_t(links.control.size);
    char *place = static_cast<char *>(window);
    Bytes all(new char[size * n]);
    if (Error error = copy(&all[rank * n], place + rank * n, n, stream))
      return error;
    std::vector<Wire::Segment> segments;
    for (size_t i = 0; i < size; ++i)
      segments.push_back({&all[rank * n], &all[i * n]});
    Error error = links.wire.transfer(operation, segments);
    if (!error)
      error = copy(place, all.get(), rank * n, stream);
    size_t after = (rank + 1) * n;
    return error ? error
                 : copy(place + after, &all[after], size * n - after, stream);
  }

  Error allToAll(const Operation &operation, const void *from, void *to,
                 void *stream) override {
    size_t n = operation.bytes, rank = size_t(links.control.rank),
           size = size_t(links.control.size);
    Bytes out(new char[size * n]), in(new char[size * n]);
    if (Error error = copy(out.get(), from, size * n, stream))
      return error;
    std::vector<Wire::Segment> segments;
    for (size_t i = 0; i < size; ++i)
      segments.push_back({&out[i * n], &in[i * n]});
    if (Error error = links.wire.transfer(operation, segments))
      return error;
    std::copy_n(&out[rank * n], n, &in[rank * n]);
    return copy(to, in.get(), size * n, stream);
  }

private:
  /// Copies to or from the device. The copy is complete on return.
  Error copy(void *to, const void *from, size_t bytes, void *stream) {
    Device &device = links.device;
    if (device.isCapturing(stream))
      return {
          MX_ERROR_UNSUPPORTED,
          "expected a stream that no CUDA graph captures, because transport "
          "\"host\" waits for it: use \"nccl\""};
    if (bytes == 0)
      return {};
    Error error = device.copy(Copy::Guess, to, from, bytes, stream);
    return error ? error : device.synchronizeStream(stream);
  }
};

} // namespace

std::unique_ptr<Transport> mx::runtime::makeHostTransport(Links &links) {
  return std::make_unique<HostTransport>(links);
}
