//===- Products.cpp - what depends on matrix products ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where products are not computed, no branch and no address may depend on them.
// Registers are followed through the whole program, whatever the order of its
// instructions, and shared memory as a whole: that may find a dependence where
// there is none, never the other way round.
//===----------------------------------------------------------------------===//

#include "Prices.h"

#include "../report/OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

bool isShared(const ptx::Instruction &i) {
  return hasModifier(i, "shared*") || i.opcode == "ldmatrix" ||
         i.opcode == "stmatrix";
}

/// Of those that name tensor memory by their first register.
bool hasAddress(const ptx::Instruction &i) {
  return hasModifier(i, "ld") || hasModifier(i, "st") || hasModifier(i, "cp");
}

class Dependence {
public:
  explicit Dependence(const Program &program)
      : program(program), depends(program.places()) {}

  /// The first instruction that decides by a product; null: none does.
  const InstrInfo *find() {
    do
      changed = false;
    while (std::for_each(program.info.begin(), program.info.end(),
                         [&](const InstrInfo &info) { follow(info); }),
           changed);
    for (size_t k = 0; k < program.code.size(); ++k)
      if (program.info[k].source && decides(k))
        return &program.info[k];
    return nullptr;
  }

private:
  bool isOf(Slot s) const {
    return s != kNoSlot && !(s & kSlotConstant) && depends[program.placeOf(s)];
  }
  bool uses(const InstrInfo &info) const {
    const Slot *first = program.uses.data() + info.firstUse;
    return std::any_of(first, first + info.numUses,
                       [&](Slot s) { return isOf(s); });
  }
  void follow(const InstrInfo &info) {
    if (!info.source)
      return;
    const ptx::Instruction &i = *info.source;
    // Tensor memory has little that products have not given.
    bool isProduct = (i.opcode == "wgmma" && hasModifier(i, "mma_async")) ||
                     (i.opcode == "tcgen05" && hasModifier(i, "ld"));
    bool isLoad = i.opcode == "ld" || i.opcode == "ldmatrix";
    bool from =
        isProduct || uses(info) || (isLoad && isShared(i) && sharedDepends);
    if (!from)
      return;
    if ((i.opcode == "st" || i.opcode == "stmatrix") && isShared(i) &&
        !sharedDepends)
      sharedDepends = changed = true;
    for (uint32_t k = 0; k < info.numDefs; ++k) {
      uint8_t &flag = depends[program.placeOf(program.defs[info.firstDef + k])];
      changed |= !flag;
      flag = 1;
    }
  }
  /// A guard, a branch, or an address.
  bool decides(size_t k) const {
    const Instr &i = program.code[k];
    if (isOf(i.guard))
      return true;
    const std::string_view opcode = program.info[k].source->opcode;
    if (opcode == "bra" || opcode == "brx" || opcode == "cp")
      return uses(program.info[k]);
    if (opcode == "tcgen05")
      return hasAddress(*program.info[k].source) && isOf(i.a);
    return (opcode == "ld" || opcode == "st" || opcode == "atom" ||
            opcode == "red" || opcode == "ldmatrix" || opcode == "stmatrix") &&
           isOf(i.a);
  }

  const Program &program;
  std::vector<uint8_t> depends; ///< by register
  bool sharedDepends = false, changed = false;
};

} // namespace

const InstrInfo *
mx::sim::time::findDependenceOnProducts(const Program &program) {
  return Dependence(program).find();
}
