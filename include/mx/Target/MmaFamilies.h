//===- MmaFamilies.h - what each family of MMAs takes and gives -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The matrix instructions that differ in how a kernel is built around them:
// where operands, scales and accumulators lie, who issues them, and how one
// learns that they are done. docs/Chips.md shows the table.
//
// Sources: PTX ISA, "tcgen05.mma", "Asynchronous Warpgroup Level Matrix
// Instructions" (wgmma), "mma" (block scaling).
//
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_MMAFAMILIES_H
#define MX_TARGET_MMAFAMILIES_H

#include "mx/Target/TargetInfo.h"

namespace mx::target {

/// Where operands, scales and accumulators lie.
enum class MmaPlace : uint8_t { None, SharedMemory, TensorMemory, Registers };

/// How one learns that a matrix instruction is done.
enum class MmaCompletion : uint8_t {
  Commit,     ///< it arrives at a barrier
  WaitGroup,  ///< who issued it waits for groups of them
  Synchronous ///< when the instruction after it executes
};

struct MmaFamilyInfo {
  MmaFamily family;
  const char *name;  ///< the instruction in PTX
  unsigned threads;  ///< that issue an instruction together
  MmaPlace operands; ///< of A and B
  MmaPlace scales;   ///< of A and B
  MmaPlace accumulator;
  MmaCompletion completion;
};

const MmaFamilyInfo &getInfo(MmaFamily family);
const char *getName(MmaPlace place);
const char *getName(MmaCompletion completion);

/// Empty if the chip has instructions of the family.
std::string checkMmaFamily(const TargetInfo &target, MmaFamily family);

} // namespace mx::target

#endif // MX_TARGET_MMAFAMILIES_H
