//===- ProductRules.cpp - The ways to multiply, and their rules -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The table of all ways. See ScheduleRules.h.
//
//===----------------------------------------------------------------------===//

#include "ScheduleRules.h"

using namespace mx;
using namespace mx::mxgpu;

const ProductRules &mx::mxgpu::getRules(const MatmulProblem &problem) {
  static const ProductRules *const kRules[] = {
      &kBlockScaledRules, &kDequantizedRules, &kConvertedRules, &kNumbersRules};
  const ProductRules &rules = *kRules[unsigned(problem.product.way)];
  assert(rules.way == problem.product.way && "in the order of the enumeration");
  return rules;
}

const ProductRules &mx::mxgpu::getRules(const MatmulProblem &problem,
                                        const ScheduleFields &fields) {
  const ProductRules &rules = getRules(problem);
  return fields.swapAb && rules.swapped ? *rules.swapped : rules;
}
