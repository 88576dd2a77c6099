//===- FakeNccl.cpp - NCCL between processes without GPUs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces libnccl on top of FakeCuda, which uses host memory. Data is
// exchanged through a file mapped by all ranks. A collective is in progress
// until all ranks have started it. Blocking communicators are refused.
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/group/Nccl.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mx::runtime::nccl;

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr Result kInvalidArgument = 4;
constexpr size_t kRanks = 4, kSegment = 1 << 16;
/// A segment of this size fails.
constexpr size_t kUnlucky = 666;

struct SharedRank {
  std::atomic<uint64_t> begun;
  char segments[2][kRanks][kSegment];
};
struct SharedRanks {
  SharedRank ranks[kRanks];
};

/// Sends and receives between ncclGroupStart and ncclGroupEnd.
struct Calls {
  const void *from[kRanks];
  void *to[kRanks];
  size_t bytes = 0;
  Communicator communicator = nullptr;
  bool isOpen = false;
} calls;

/// Copies `n` bytes; accepts null pointers.
void copy(void *into, const void *from, size_t n) {
  if (n)
    memcpy(into, from, n);
}

} // namespace

struct mx::runtime::nccl::ncclComm {
  int rank, size;
  SharedRanks *shared;
  uint64_t begun = 0;
  Result failure = kSuccess;
  /// `isWaiting` is set while a call waits for its peers, `isAborted` once the
  /// call must stop waiting.
  std::atomic<bool> isWaiting = false, isAborted = false;

  /// Runs the work of a stream immediately and waits for all ranks, as if each
  /// call were the first of its kind.
  Result exchange(const void *const *from, void *const *into, size_t n) {
    if (n > kSegment)
      return kInvalidArgument;
    if (n == kUnlucky) { // the watchdog finds the error later
      failure = kSystemError;
      return kSuccess;
    }
    ++begun;
    for (int i = 0; i < size; ++i)
      copy(shared->ranks[rank].segments[begun % 2][i], from[i], n);
    shared->ranks[rank].begun = begun;
    isWaiting = true;
    for (int i = 0; i < size && !isAborted; ++i)
      while (!isAborted && shared->ranks[i].begun < begun)
        usleep(50);
    Result result = isAborted ? kRemoteError : kSuccess;
    for (int i = 0; i < size && !result; ++i)
      copy(into[i], shared->ranks[i].segments[begun % 2][rank], n);
    isWaiting = false;
    return result;
  }
};

FAKE Result ncclGetVersion(int *version) {
  *version = FAKE_NCCL_VERSION;
  return kSuccess;
}

FAKE Result ncclGetUniqueId(UniqueId *id) {
  strcpy(id->bytes, "/tmp/mx-fake-nccl-XXXXXX");
  int file = mkstemp(id->bytes);
  bool isMade = file >= 0 && ftruncate(file, sizeof(SharedRanks)) == 0;
  close(file);
  return isMade ? kSuccess : kSystemError;
}

FAKE Result ncclCommInitRankConfig(Communicator *communicator, int size,
                                   UniqueId id, int rank, Config *config) {
  if (config->size != sizeof(Config) || config->magic != 0xcafebeef ||
      config->version != 22800 || config->blocking != 1 || size > int(kRanks))
    return kInvalidArgument;
  int file = open(id.bytes, O_RDWR);
  void *mapped = mmap(nullptr, sizeof(SharedRanks), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED)
    return kSystemError;
  *communicator = new ncclComm{rank, size, static_cast<SharedRanks *>(mapped)};
  const void *from[kRanks] = {};
  void *to[kRanks] = {};
  // The last rank deletes the file.
  bool isLast = true;
  for (int i = 0; i < size; ++i)
    isLast &= i == rank || (*communicator)->shared->ranks[i].begun > 0;
  if (isLast)
    unlink(id.bytes);
  return (*communicator)->exchange(from, to, 0);
}

FAKE Result ncclCommFinalize(Communicator) { return kSuccess; }
static Result destroy(Communicator communicator) {
  communicator->isAborted = true;
  while (communicator->isWaiting)
    usleep(50);
  munmap(communicator->shared, sizeof(SharedRanks));
  delete communicator;
  return kSuccess;
}
FAKE Result ncclCommDestroy(Communicator communicator) {
  return destroy(communicator);
}
FAKE Result ncclCommAbort(Communicator communicator) {
  return destroy(communicator);
}
FAKE Result ncclCommGetAsyncError(Communicator communicator, Result *result) {
  *result = communicator->failure;
  return kSuccess;
}
FAKE const char *ncclGetErrorString(Result) { return "as the test wished"; }
FAKE const char *ncclGetLastError(Communicator) { return ""; }

FAKE Result ncclAllGather(const void *from, void *to, size_t count, int type,
                          Communicator communicator, Stream) {
  const void *segments[kRanks];
  void *places[kRanks];
  for (size_t i = 0; i < kRanks; ++i) {
    segments[i] = from;
    places[i] = static_cast<char *>(to) + i * count;
  }
  return type == kUint8 ? communicator->exchange(segments, places, count)
                        : kInvalidArgument;
}

#if FAKE_NCCL_VERSION >= 22800
FAKE Result ncclAlltoAll(const void *from, void *to, size_t count, int type,
                         Communicator communicator, Stream) {
  const void *segments[kRanks];
  void *places[kRanks];
  for (size_t i = 0; i < kRanks; ++i) {
    segments[i] = static_cast<const char *>(from) + i * count;
    places[i] = static_cast<char *>(to) + i * count;
  }
  return type == kUint8 ? communicator->exchange(segments, places, count)
                        : kInvalidArgument;
}
#endif

FAKE Result ncclGroupStart() {
  calls = {};
  calls.isOpen = true;
  return kSuccess;
}
FAKE Result ncclSend(const void *from, size_t count, int, int peer,
                     Communicator communicator, Stream) {
  calls.from[peer] = from;
  calls.bytes = count;
  calls.communicator = communicator;
  return calls.isOpen ? kSuccess : kInvalidArgument;
}
FAKE Result ncclRecv(void *to, size_t, int, int peer, Communicator, Stream) {
  calls.to[peer] = to;
  return calls.isOpen ? kSuccess : kInvalidArgument;
}
FAKE Result ncclGroupEnd() {
  calls.isOpen = false;
  return calls.communicator->exchange(calls.from, calls.to, calls.bytes);
}
