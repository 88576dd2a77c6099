//===- Target.h - what the chips of .target have ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the "Target ISA Notes" of the PTX ISA. The assembler is the judge: it
// and the table are compared for thousands of instructions in
// simulator/test/targets.test.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_TARGET_H
#define MXSIM_LIB_PTX_TARGET_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mx::sim::ptx {

struct Instruction;

/// sm_120a: 120 and 'a'. No suffix: 0.
struct Target {
  unsigned number = 0;
  char suffix = 0;

  /// Chips with compute capability 12.x: GeForce RTX 50, RTX PRO, DGX Spark.
  bool isConsumerBlackwell() const { return number / 10 == 12; }
};
/// False when `text` is no target.
bool parseTarget(std::string_view text, Target &target);

/// What is missing and which targets have it, when `name` (parsed: `target`)
/// lacks an instruction; else empty. Of targets before sm_90 nothing is said.
std::string missingOn(const Target &target, std::string_view name,
                      const Instruction &i);

/// What an SM holds (CUDA Programming Guide, "Technical specifications per
/// compute capability").
struct SmLimits {
  uint32_t threads, ctas, sharedBytes;
};
SmLimits limitsOf(const Target &target);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_TARGET_H
