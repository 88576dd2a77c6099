//===- PeerWindows.h - Windows of other ranks on one machine ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of one machine map each other's windows by CUDA IPC. A collective is a
// kernel that waits for all ranks (PeerSync.ptx), copies into the windows of
// the peers by copy engines, and the kernel again. Ranks agree on each mapping,
// so all of them use the windows or none does.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_PEERWINDOWS_H
#define MX_RUNTIME_LIB_GROUP_PEERWINDOWS_H

#include "Progress.h"
#include "Transport.h"

#include "../cuda/CudaDevice.h"

#include <functional>

namespace mx::runtime {

class PeerWindows {
public:
  /// `wanted` is the transport of the configuration: "auto" maps windows if
  /// possible, "peer" requires mapped windows, "nccl" maps none.
  PeerWindows(Links &links, Progress &progress, std::string_view wanted)
      : links(links), device(static_cast<cuda::CudaDevice &>(links.device)),
        progress(progress), wanted(wanted) {}
  ~PeerWindows();

  /// Collective. Loads the kernel and maps the lines of all ranks. Fails only
  /// if a rank requires windows, or if the group fails.
  Error open();
  bool isOpen() const { return sync != nullptr; }
  /// Collective. Maps windows of equal size on all ranks. Older mappings live
  /// as long as the group, because a CUDA graph may use them. Fails like open.
  Error map(void *memory, size_t bytes);
  /// Returns true if the bytes are in mapped windows.
  bool contains(const void *memory, size_t bytes) const;
  /// Returns the array of Collectives::peers.
  const void *getDistances() const { return distances; }

  /// Collective, stream-ordered. Copies the segment at `from + stride * r` to
  /// segment `rank` of `to` on rank r. `to` is in the windows, at the same
  /// offset on all ranks.
  Error move(const Operation &operation, const void *from, size_t stride,
             void *to, void *stream);
  /// Collective, stream-ordered. Waits for all ranks. Ranks with different
  /// operations or offsets wait until the group fails.
  Error meet(const Operation &operation, size_t offset, void *stream);
  /// Returns a rank that met this rank with a different operation, or -1.
  int getDifferent() const { return int(progress.getSignals()[1]) - 1; }
  /// Ends all running and future kernels. Does not wait.
  void stop() { progress.getSignals()[0] = 1; }

private:
  Error load();
  /// Maps memory of all ranks and then calls `finish`, unless a rank has failed
  /// with `mine`. Clears `places` on all ranks if any rank fails.
  Error mapOnAll(void *memory, Error mine, std::vector<char *> &places,
                 const std::function<Error()> &finish);
  Error alloc(size_t bytes, void *&memory);

  Links &links;
  cuda::CudaDevice &device;
  Progress &progress;
  const std::string wanted;
  /// True if any rank requires windows.
  bool isRequired = false;
  std::unique_ptr<Module> module;
  /// Null if the ranks cannot map memory.
  std::unique_ptr<Function> sync;
  /// Parameters of the kernel.
  void *block = nullptr;
  cuda::CUdeviceptr signals = 0;

  /// Windows of all ranks, as mapped here.
  std::vector<char *> windows;
  size_t windowBytes = 0;
  std::atomic<void *> distances = nullptr;
  std::vector<cuda::CUdeviceptr> opened;
  std::vector<void *> allocated;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_PEERWINDOWS_H
