//===- PeerAccess.h - Accesses to peer device memory ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Delivers late stores for loads, stores, atomics and fences in a world (see
// machine/LateStores.h).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_PEERACCESS_H
#define MXSIM_LIB_EXEC_PEERACCESS_H

#include "MemoryAccess.h"

namespace mx::sim {

/// Returns true if the device has undelivered stores to peers.
bool hasLateStores(Warp &w);

/// Delivers all late stores before a release at system scope. Needs
/// the turn.
void releaseToSystem(Warp &w);

/// Delivers late stores to a range that the device is about to read or update.
void settleStores(Warp &w, uint64_t address, uint64_t bytes);

/// Stores of an instruction to peers. The lanes write to copies, and `end`
/// sends the copies.
class PeerStore {
public:
  /// Replaces the host pointers of lanes that address a peer by pointers to
  /// copies.
  void begin(Warp &w, const Instr *i, Slot base, bool is64, int64_t offset,
             uint32_t bytes, uint32_t mask, uint8_t *hosts[32]);
  /// Sends the copies. Call after the access is reported to the order check.
  void end(Warp &w);

private:
  uint32_t lanes = 0, size = 0;
  uint64_t addresses[32];
  uint8_t copies[32][32];
  Epoch epoch;
  std::vector<std::pair<uint64_t, Knowledge>> published;
};

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_PEERACCESS_H
