//===- PeerAccess.h - accesses to memory of other devices -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What loads, stores, atomics and fences of a world do beyond those of a single
// device: see machine/LateStores.h.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_PEERACCESS_H
#define MXSIM_LIB_EXEC_PEERACCESS_H

#include "MemoryAccess.h"

namespace mx::sim {

/// Whether the device has stores that may be late.
bool hasLateStores(Warp &w);

/// The warp releases in the scope of the system: late stores that come before
/// that arrive.
/// Needs the turn.
void releaseToSystem(Warp &w);

/// The device is about to read there, or to change it at once.
void settleStores(Warp &w, uint64_t address, uint64_t bytes);

/// One store instruction. Lanes whose bytes are of another device write to a
/// copy, which goes on its way when all is written.
class PeerStore {
public:
  /// `hosts` are what the lanes are to write to; those of peers are replaced.
  void begin(Warp &w, const Instr *i, Slot base, bool is64, int64_t offset,
             uint32_t bytes, uint32_t mask, uint8_t *hosts[32]);
  /// The order has heard of the access.
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
