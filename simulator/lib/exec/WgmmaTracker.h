//===- WgmmaTracker.h - registers that wgmma still works on -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma.mma_async reads and writes registers until wgmma.wait_group says that
// its group is done. Who touches them before that is told, and who does not put
// a wgmma.fence after the writes. A warp has a tracker once it has
// executed a wgmma instruction.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_WGMMATRACKER_H
#define MXSIM_LIB_EXEC_WGMMATRACKER_H

#include "../machine/Machine.h"
#include "mxsim/tensor/WarpMma.h"

#include <array>

namespace mx::sim {

class WgmmaTracker final : public RegisterTracker {
public:
  /// An accumulator (isWritten) or a register of A of an operation that is not
  /// committed yet.
  void add(Warp &w, Slot slot, bool isWritten);
  void commit() { ++group; }
  /// wgmma.fence: operations may use what registers hold now.
  void fence();
  /// Looks for a wgmma.fence before an operation and after the writes of its
  /// registers of A. False when the launch has been stopped.
  bool checkFence(Warp &w, const Instr *i);
  /// wgmma.wait_group: all groups but the last `left` are done.
  void wait(Warp &w, uint64_t left);
  /// Reports registers that the instruction must not use yet.
  bool check(Warp &w, const Instr *i) override;

  /// The operation at which the warp waits for the rest of its warpgroup.
  const Instr *arrivedAt = nullptr;
  WgmmaOp arrived;

private:
  /// The last group that uses a register, plus one.
  struct Use {
    uint64_t writes = 0, reads = 0;
    bool any() const { return writes || reads; }
  };
  std::vector<Use> uses; ///< per 128 bytes of the register file
  uint64_t group = 0;    ///< of the next operation

  /// A register of A as an operation since the last fence took it.
  struct Fragment {
    Slot slot;
    std::array<uint32_t, 32> lanes;
  };
  std::vector<Fragment> fragments;
  bool isFenced = false;

  Use *find(Slot slot);
  void clear(Warp &w);
};

/// Whether an instruction is wgmma.mma_async, and its registers of A, if it has
/// any.
struct WgmmaSources {
  bool isMultiply = false;
  const Slot *slots = nullptr;
  unsigned count = 0;
};
WgmmaSources wgmmaSources(const Warp &w, const Instr *i);

/// Null before the first wgmma instruction of the warp.
inline WgmmaTracker *trackerOf(const Warp &w) {
  return static_cast<WgmmaTracker *>(w.wgmma.get());
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_WGMMATRACKER_H
