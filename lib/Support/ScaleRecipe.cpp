//===- ScaleRecipe.cpp - Rounding of power-of-two scales ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/ScaleRecipe.h"
#include <cassert>

using namespace mx;

static constexpr ScaleRecipe kRecipes[] = {
    {0x3B124925u, 8, 3, 0x17FFFFu},  // E4M3: 448, up to 464
    {0x37924925u, 15, 2, 0x100000u}, // E5M2: 57344
    {0x3D124925u, 4, 2, 0x100000u},  // E3M2: 28
    {0x3E088889u, 2, 3, 0x080000u},  // E2M3: 7.5
    {0x3E2AAAABu, 2, 1, 0x200000u},  // E2M1: 6
};
static constexpr ScaleRecipe kInt8Recipe = {0x3F010204u, 0, 6,
                                            0x010000u}; // 127/64

const ScaleRecipe &mx::getScaleRecipe(FloatFormat elem) {
  assert(elem <= FloatFormat::E2M1 && "not an element format");
  return kRecipes[unsigned(elem)];
}

const ScaleRecipe &mx::getInt8ScaleRecipe() { return kInt8Recipe; }
