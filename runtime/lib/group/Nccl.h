//===- Nccl.h - Subset of the NCCL API --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These declarations replace nccl.h, so the build does not require NCCL. NCCL's
// host interface is stable.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_NCCL_H
#define MX_RUNTIME_LIB_GROUP_NCCL_H

#include "../Device.h"

#include <climits>

namespace mx::runtime::nccl {

using Result = int;
using Communicator = struct ncclComm *;
using Stream = void *;

enum : Result {
  kSuccess = 0,
  kSystemError = 2,
  kRemoteError = 6,
};
enum : int { kUint8 = 1 };

/// Layout of ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

/// Layout of ncclConfig_t in NCCL 2.28. Older libraries read a prefix; newer
/// libraries find missing fields by `version`.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22800;
  int blocking = INT_MIN;
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN;
  int maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
  int trafficClass = INT_MIN;
  const char *commName = nullptr;
  int collnetEnable = INT_MIN;
  int CTAPolicy = INT_MIN;
  int shrinkShare = INT_MIN;
  int nvlsCTAs = INT_MIN;
  int nChannelsPerNetPeer = INT_MIN;
  int nvlinkCentricSched = INT_MIN;
};

// X(member, exported name, result type, parameter types)
#define MX_NCCL_REQUIRED_FUNCTIONS(X)                                          \
  X(getVersion, ncclGetVersion, Result, (int *))                               \
  X(getUniqueId, ncclGetUniqueId, Result, (UniqueId *))                        \
  X(commInitRankConfig, ncclCommInitRankConfig, Result,                        \
    (Communicator *, int, UniqueId, int, Config *))                            \
  X(commFinalize, ncclCommFinalize, Result, (Communicator))                    \
  X(commDestroy, ncclCommDestroy, Result, (Communicator))                      \
  X(commAbort, ncclCommAbort, Result, (Communicator))                          \
  X(commGetAsyncError, ncclCommGetAsyncError, Result,                          \
    (Communicator, Result *))                                                  \
  X(getErrorString, ncclGetErrorString, const char *, (Result))                \
  X(getLastError, ncclGetLastError, const char *, (Communicator))              \
  X(allGather, ncclAllGather, Result,                                          \
    (const void *, void *, size_t, int, Communicator, Stream))                 \
  X(send, ncclSend, Result,                                                    \
    (const void *, size_t, int, int, Communicator, Stream))                    \
  X(receive, ncclRecv, Result,                                                 \
    (void *, size_t, int, int, Communicator, Stream))                          \
  X(groupStart, ncclGroupStart, Result, ())                                    \
  X(groupEnd, ncclGroupEnd, Result, ())

// NCCL 2.28 and later.
#define MX_NCCL_OPTIONAL_FUNCTIONS(X)                                          \
  X(allToAll, ncclAlltoAll, Result,                                            \
    (const void *, void *, size_t, int, Communicator, Stream))

struct Library {
#define X(member, symbol, result, types) result(*member) types = nullptr;
  MX_NCCL_REQUIRED_FUNCTIONS(X)
  MX_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
  int version = 0;
  std::string path;

  /// Converts the failure of `what` to an error with NCCL's explanation.
  Error error(const std::string &what, Result result,
              Communicator communicator) const;
};

/// Formats a version: "2.28.9".
std::string describeVersion(int version);

/// Fails if the library version is unsupported.
Error checkVersion(int version, const std::string &path);

/// Loads NCCL. Prefers a copy already in the process (for example, loaded by
/// PyTorch), then MX_NCCL_LIBRARY, then libnccl.so.2 from the loader's path.
Error load(Library &library);
/// Loads NCCL once and caches the outcome.
Error getLibrary(const Library *&library);

} // namespace mx::runtime::nccl

#endif // MX_RUNTIME_LIB_GROUP_NCCL_H
