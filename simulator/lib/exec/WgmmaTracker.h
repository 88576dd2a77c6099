//===- WgmmaTracker.h - Registers in use by wgmma ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma.mma_async reads and writes registers until wgmma.wait_group completes
// its group. The tracker reports an access to these registers before the wait,
// and a missing wgmma.fence between an access and wgmma.mma_async. The first
// wgmma instruction of a warp creates the tracker.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_WGMMATRACKER_H
#define MXSIM_LIB_EXEC_WGMMATRACKER_H

#include "../machine/Machine.h"
#include "mxsim/tensor/WarpMma.h"

#include <array>

namespace mx::sim {

class WgmmaTracker final : public RegisterTracker {
public:
  /// Adds an accumulator (`isWritten`) or a register of A to the registers in
  /// use by the open group.
  void add(Warp &w, Slot slot, bool isWritten);
  void commit() { ++group; }
  /// Executes wgmma.fence: operations may use the current register values.
  void fence();
  /// Checks for a wgmma.fence between writes to the registers of A, or accesses
  /// to the accumulators, and the operation. Returns false if the launch has
  /// stopped.
  bool checkFence(Warp &w, const Instr *i);
  /// Executes wgmma.wait_group: completes all but the last `left` groups.
  void wait(Warp &w, uint64_t left);
  /// Reports registers that the instruction must not use yet.
  bool check(Warp &w, const Instr *i) override;

  /// Operation at which the warp waits for the rest of its warpgroup.
  const Instr *arrivedAt = nullptr;
  WgmmaOp arrived;

private:
  /// Last group that writes the register and last group that reads it, each as
  /// a group number plus one; 0 if there is no such group.
  struct Use {
    uint64_t writes = 0, reads = 0;
    bool isComplete = false; ///< an accumulator without an access since
    bool isAccessed = false; ///< since it was complete, without a fence
    bool any() const { return writes || reads || isComplete; }
  };
  std::vector<Use> uses; ///< one per 128 bytes of the register file
  uint64_t group = 0;    ///< group of the next operation

  /// Register of A and the values read by an operation since the last fence.
  struct Fragment {
    Slot slot;
    std::array<uint32_t, 32> lanes;
  };
  std::vector<Fragment> fragments;
  bool isFenced = false;

  Use *find(Slot slot);
  void clear(Warp &w);
};

/// Registers of A of a wgmma.mma_async instruction; empty for other
/// instructions.
struct WgmmaSources {
  bool isMultiply = false;
  const Slot *slots = nullptr;
  unsigned count = 0;
};
WgmmaSources wgmmaSources(const Warp &w, const Instr *i);

/// Returns null before the first wgmma instruction of the warp.
inline WgmmaTracker *trackerOf(const Warp &w) {
  return static_cast<WgmmaTracker *>(w.wgmma.get());
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_WGMMATRACKER_H
