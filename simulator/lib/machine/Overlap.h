//===- Overlap.h - Memory of overlapping kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A programmatic launch may start while its predecessors run, but may share
// memory with them only after griddepcontrol.wait. Kernels are simulated
// sequentially, so premature accesses are detected from the recorded accesses
// of each kernel, at page granularity. Allocations never share a page.
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
  /// Tracks memory with addresses starting at `base`.
  explicit Overlap(uint64_t base) : base(base) {}
  void begin(bool isProgrammatic, size_t pages);
  /// Records griddepcontrol.launch_dependents. Thread-safe.
  void noteTrigger() { triggered.store(true, std::memory_order_relaxed); }
  /// Records griddepcontrol.wait. Thread-safe.
  void noteWait() { waited.store(true, std::memory_order_relaxed); }
  void settle();
  /// Records an access of the kernel. Thread-safe.
  void note(uint64_t address, uint64_t bytes, bool isWrite);
  /// State of the earlier kernel in a conflict. A conflict requires a write by
  /// at least one of the kernels.
  enum class Sharing { None, WithEnded, WithRunning };
  Sharing sharing(uint64_t address, uint64_t bytes, bool isWrite) const;
  /// Returns true if an access after griddepcontrol.wait conflicts with a
  /// kernel before the predecessor that the predecessor has not waited for.
  bool isOvertaking(uint64_t address, uint64_t bytes, bool isWrite) const;

private:
  const uint64_t base;
  /// Accesses to a page. The low two bits belong to kernels that may still run.
  /// The next two bits belong to ended kernels. Their writes become visible
  /// only after griddepcontrol.wait.
  enum : uint8_t { kRead = 1, kWritten = 2, kEndedShift = 2 };
  std::vector<std::atomic<uint8_t>> current;
  std::atomic<bool> triggered{false}, waited{false};
  /// Accesses by earlier kernels; empty if none may overlap.
  std::vector<uint8_t> earlier;
  /// Accesses by kernels that may still run when the predecessor has ended.
  std::vector<uint8_t> overtaken;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_OVERLAP_H
