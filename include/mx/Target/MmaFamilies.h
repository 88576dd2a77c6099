//===- MmaFamilies.h - what each family of MMAs takes and gives -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The matrix instructions that differ in how a kernel is built around them:
// where operands, scales and accumulators lie, who issues them, and how one
// learns that they are done. docs/reference/Chips.md shows the table.
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
constexpr unsigned kNumMmaPlaces = 4;

/// The places that an instruction can take one operand from.
class MmaPlaces {
public:
  constexpr MmaPlaces(MmaPlace place) : bits(1u << unsigned(place)) {}
  constexpr MmaPlaces operator|(MmaPlaces other) const {
    MmaPlaces both = *this;
    both.bits |= other.bits;
    return both;
  }
  constexpr bool contains(MmaPlace place) const {
    return bits >> unsigned(place) & 1;
  }
  constexpr bool operator==(MmaPlaces other) const {
    return bits == other.bits;
  }

private:
  uint8_t bits;
};

constexpr MmaPlaces operator|(MmaPlace a, MmaPlace b) {
  return MmaPlaces(a) | MmaPlaces(b);
}

/// How one learns that a matrix instruction is done.
enum class MmaCompletion : uint8_t {
  Commit,     ///< it arrives at a barrier
  WaitGroup,  ///< who issued it waits for groups of them
  Synchronous ///< when the instruction after it executes
};

/// What an instruction takes and gives.
struct MmaRoles {
  unsigned threads; ///< that issue an instruction together
  MmaPlaces a, b;
  MmaPlace scales; ///< of A and B
  MmaPlace accumulator;
  MmaCompletion completion;
};

struct MmaFamilyInfo {
  MmaFamily family;
  const char *name; ///< the instruction in PTX
  MmaRoles roles;
};

const MmaFamilyInfo &getInfo(MmaFamily family);
const char *getName(MmaPlace place);
/// "shared memory or registers".
std::string getName(MmaPlaces places);
const char *getName(MmaCompletion completion);

/// Empty if the chip has instructions of the family.
std::string checkMmaFamily(const TargetInfo &target, MmaFamily family);

} // namespace mx::target

#endif // MX_TARGET_MMAFAMILIES_H
