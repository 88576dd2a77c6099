//===- MmaFamilies.h - Families of matrix instructions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families of matrix instructions need kernels of different structures, because
// they differ in the memory of operands, scales and accumulators, the issuing
// threads and the completion mechanism. docs/reference/Chips.md shows the
// table. Sources: PTX ISA, "tcgen05.mma", "Asynchronous Warpgroup Level Matrix
// Instructions" (wgmma), "mma" (block scaling).
//===----------------------------------------------------------------------===//
#ifndef MX_TARGET_MMAFAMILIES_H
#define MX_TARGET_MMAFAMILIES_H

#include "mx/Target/TargetInfo.h"

namespace mx::target {

/// Memory of operands, scales and accumulators.
enum class MmaPlace : uint8_t { None, SharedMemory, TensorMemory, Registers };
constexpr unsigned kNumMmaPlaces = 4;

/// Set of memories from which an instruction can read an operand.
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

/// Completion mechanism of a matrix instruction.
enum class MmaCompletion : uint8_t {
  Commit,     ///< arrives at a barrier
  WaitGroup,  ///< the issuing threads wait for commit groups
  Synchronous ///< complete when the next instruction executes
};

/// Operands and accumulators of an instruction.
struct MmaRoles {
  unsigned threads; ///< threads that issue an instruction together
  MmaPlaces a, b;
  MmaPlace scales; ///< scales of A and B
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
/// Returns a string like "shared memory or registers".
std::string getName(MmaPlaces places);
const char *getName(MmaCompletion completion);

/// Returns an error message unless the chip supports the family.
std::string checkMmaFamily(const TargetInfo &target, MmaFamily family);

} // namespace mx::target

#endif // MX_TARGET_MMAFAMILIES_H
