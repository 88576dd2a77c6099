//===- Overlap.h - memory of kernels that overlap ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that is launched programmatically may begin while those before it
// run, and shares memory with them only after its griddepcontrol.wait. Kernels
// are simulated one after another; which global memory each touches is kept, so
// that what it does too early is found all the same. In pages, of which every
// allocation has its own.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_OVERLAP_H
#define MXSIM_LIB_MACHINE_OVERLAP_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mx::sim {

class Overlap {
public:
  /// Of memory whose addresses begin at `base`.
  explicit Overlap(uint64_t base) : base(base) {}
  /// A launch begins.
  void begin(bool isProgrammatic, size_t pages);
  /// The kernel executes griddepcontrol.launch_dependents. Thread-safe.
  void noteTrigger() { triggered.store(true, std::memory_order_relaxed); }
  /// The kernel executes griddepcontrol.wait. Thread-safe.
  void noteWait() { waited.store(true, std::memory_order_relaxed); }
  /// All kernels have ended.
  void settle();
  /// The kernel touches a range. Thread-safe.
  void note(uint64_t address, uint64_t bytes, bool isWrite);
  /// Which kernel before touches it as well, where one of the two writes.
  enum class Sharing { None, WithEnded, WithRunning };
  Sharing sharing(uint64_t address, uint64_t bytes, bool isWrite) const;

private:
  const uint64_t base;
  /// Uses by a kernel that may still run, and by one that has ended, but whose
  /// writes only griddepcontrol.wait makes visible.
  enum : uint8_t { kRead = 1, kWritten = 2, kEndedShift = 2 };
  std::vector<std::atomic<uint8_t>> current;
  std::atomic<bool> triggered{false}, waited{false};
  /// Of kernels before; empty where there are none that may overlap.
  std::vector<uint8_t> earlier;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_OVERLAP_H
