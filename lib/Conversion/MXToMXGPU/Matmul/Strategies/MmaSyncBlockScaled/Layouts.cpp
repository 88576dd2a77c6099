//===- Layouts.cpp - Register layouts of mma.sync -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Layouts.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

FragmentType MmaSyncLayouts::getTaken(MmaOperand operand, Type element,
                                      int64_t depth) const {
  return MmaAttrInterface(mma).getOperandType(operand, element, depth);
}

/// Assigns eight adjacent elements of an instruction's slice to a lane, in two
/// words of four elements.
static void takeAdjacent(FragmentModes &modes, bool isPacked) {
  constexpr int64_t kWord = 4, kHalf = 16;
  for (FragmentMode &mode : modes.threads)
    if (mode.columns == kWord)
      mode.columns = 2 * kWord;
  for (FragmentMode &mode : modes.values) {
    if (mode.columns == 1)
      mode.columns = 2;
    else if (mode.columns == kHalf)
      mode.columns = 1;
  }
  if (!isPacked)
    return;
  assert(modes.values[0].columns == 1 && modes.values[1].columns == 2 &&
         "elements of both halves take turns");
  modes.values[1] = {2 * kWord, 0, 1};
  modes.values.erase(modes.values.begin());
}

FragmentType MmaSyncLayouts::getLoaded(MmaOperand operand, Type element,
                                       int64_t depth) const {
  FragmentType taken = getTaken(operand, element, depth);
  FragmentModes modes = {
      SmallVector<FragmentMode>(taken.getLayout().getThreads()),
      SmallVector<FragmentMode>(taken.getLayout().getValues())};
  if (isMixed && (operand == MmaOperand::A || operand == MmaOperand::B))
    takeAdjacent(modes, getStoredBits(element) == 4);
  if (isMoved && (operand == MmaOperand::B || operand == MmaOperand::BScales)) {
    modes.threads = columns.move(modes.threads, &FragmentMode::rows);
    modes.values = columns.move(modes.values, &FragmentMode::rows);
  }
  return FragmentType::get(
      element,
      FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values));
}

FragmentLayoutAttr MmaSyncLayouts::getResult() const {
  return isMoved ? columns.getResult() : columns.getAccumulator();
}
