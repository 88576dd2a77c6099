//===- Target.h - Instruction support of .target chips ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Based on the "Target ISA Notes" of the PTX ISA. The assembler is
// authoritative: simulator/test/targets.test compares it with the table for
// thousands of instructions.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_TARGET_H
#define MXSIM_LIB_PTX_TARGET_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mx::sim::ptx {

struct Instruction;

/// Parsed target: 120 and 'a' for sm_120a. The suffix is 0 if absent.
struct Target {
  unsigned number = 0;
  char suffix = 0;

  /// Returns true for compute capability 12.x: GeForce RTX 50, RTX PRO, DGX
  /// Spark.
  bool isConsumerBlackwell() const { return number / 10 == 12; }
};
/// Parses a target. Returns false if `text` is invalid.
bool parseTarget(std::string_view text, Target &target);

/// Returns an error with the supported targets if `target` lacks an
/// instruction, or an empty string. `name` is the text of `target`. Targets
/// before sm_90 are not checked.
std::string missingOn(const Target &target, std::string_view name,
                      const Instruction &i);

/// Capacity of an SM (CUDA Programming Guide, "Technical specifications per
/// compute capability").
struct SmLimits {
  uint32_t threads, ctas, sharedBytes;
};
SmLimits limitsOf(const Target &target);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_TARGET_H
