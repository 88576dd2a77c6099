//===- Bootstrap.h - Connection setup between ranks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank opens two ports and publishes them in a single exchange. The first
// port listens on the loopback interface only. The second port listens only if
// the exchange shows ranks on several machines. The exchange also carries all
// common settings, so every rank finds the same differences, and a random token
// to authenticate connections.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H
#define MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H

#include "Sockets.h"

#include "mx_group.h"

#include <functional>

namespace mx::runtime {

/// Checked mxGroupConfig.
struct GroupConfig {
  std::string name;
  int rank = 0, size = 0;
  Clock::duration timeout = {};
  /// "host", or "auto", "peer" or "nccl" on GPUs.
  std::string transport;
  /// Reason why this rank cannot take part, sent to other ranks, or no error.
  Error cannot;
  int ncclVersion = 0;
  std::function<Error(const void *mine, size_t bytes, void *all)> exchange;
};

/// Identifies this boot of the machine and the network namespace, because a
/// container may use a separate network.
std::string describeMachine();

/// Connects every pair of ranks, using the exchange function of `config`.
Error connectRanks(const GroupConfig &config, Mesh &mesh);

/// Builds an exchange function for callers without one: rank 0 listens on
/// `address` and the other ranks connect. Copies `config`.
Error makeExchange(const GroupConfig &config, const char *address,
                   std::function<Error(const void *, size_t, void *)> &result);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_BOOTSTRAP_H
