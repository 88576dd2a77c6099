//===- Bootstrap.h - How ranks come to be connected -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank takes two ports and tells the others which, through an exchange of
// the caller: the only thing that it is used for. It listens at the first one
// on the loopback interface alone, and at the second one once it knows that
// ranks are on several machines. With the ports travels what has to agree, so
// that each rank finds the same differences, and a random number by which ranks
// know each other's connections from any others.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H
#define MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H

#include "Sockets.h"

#include "mx_group.h"

#include <functional>

namespace mx::runtime {

/// mxGroupConfig after its checks.
struct GroupConfig {
  std::string name;
  int rank = 0, size = 0;
  Clock::duration timeout = {};
  /// "host" or "nccl".
  std::string transport;
  /// Why this rank cannot take part, "" if it can: the others learn it.
  Error cannot;
  int ncclVersion = 0;
  std::function<Error(const void *mine, size_t bytes, void *all)> exchange;
};

/// Connects every pair of ranks, in an exchange of `config`.
Error connectRanks(const GroupConfig &config, Mesh &mesh);

/// An exchange without the caller's help: rank 0 listens at `address`, the
/// others connect to it. `config` stays the caller's.
Error makeExchange(const GroupConfig &config, const char *address,
                   std::function<Error(const void *, size_t, void *)> &result);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H
