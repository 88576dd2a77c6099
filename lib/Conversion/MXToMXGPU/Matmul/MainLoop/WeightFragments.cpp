//===- WeightFragments.cpp - Tiles of weights in registers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "WeightFragments.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::loadWeights(KernelBuilder &body, Value buffer, Type element,
                             FragmentLayoutAttr layout, Value thread,
                             bool isPacked) {
  auto [rows, columns] = layout.getShape();
  FragmentLayoutAttr places =
      isPacked ? getPackedPlaces(body.getContext(), layout.getNumThreads(),
                                 rows, columns)
               : layout;
  assert((!isPacked || isOfPackedWeights(layout)) &&
         "packed weights have a layout of their own");
  Value zero = body.index(0);
  Value loaded = LoadFragmentOp::create(
      body, FragmentType::get(element, places), buffer, zero, zero, thread);
  return body.createOrFold<RelabelFragmentOp>(
      FragmentType::get(element, layout), loaded);
}
