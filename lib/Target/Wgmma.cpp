//===- Wgmma.cpp - Shapes and types of wgmma ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Target/Wgmma.h"

using namespace mx::target;

namespace {

constexpr uint16_t mask(MmaType a) { return uint16_t(1u << unsigned(a)); }
constexpr uint16_t mask(MmaType a, MmaType b) { return mask(a) | mask(b); }

constexpr WgmmaTypeRule kTypes[] = {
    {mask(MmaType::F16), 16},
    {mask(MmaType::BF16), 16},
    {mask(MmaType::TF32), 8},
    {mask(MmaType::E4M3, MmaType::E5M2), 32},
};

} // namespace

const WgmmaTypeRule *mx::target::lookupWgmma(MmaType a, MmaType b) {
  for (const WgmmaTypeRule &rule : kTypes)
    if ((rule.operands & mask(a)) && (rule.operands & mask(b)))
      return &rule;
  return nullptr;
}

std::string mx::target::checkWgmma(unsigned m, unsigned n, unsigned k,
                                   MmaType a, MmaType b) {
  const WgmmaTypeRule *rule = lookupWgmma(a, b);
  if (!rule)
    return std::string("expected operands of wgmma to be both f16, both bf16, "
                       "both tf32, or each e4m3 or e5m2, found ") +
           getName(a) + " and " + getName(b);
  if (k != rule->k)
    return "expected K of wgmma with " + std::string(getName(a)) + " to be " +
           std::to_string(rule->k) + ", found " + std::to_string(k);
  if (m != kWgmmaM)
    return "expected M of wgmma to be " + std::to_string(kWgmmaM) + ", found " +
           std::to_string(m);
  if (n < kWgmmaNMin || n > kWgmmaNMax || n % kWgmmaNStep)
    return "expected N of wgmma to be " + std::to_string(kWgmmaNMin) + " to " +
           std::to_string(kWgmmaNMax) + " in steps of " +
           std::to_string(kWgmmaNStep) + ", found " + std::to_string(n);
  return {};
}
