//===- Target.cpp - Instruction support of .target chips ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule names an opcode, a condition on the instruction text, and the
// targets that support it. All targets from sm_90 support instructions without
// a rule.
//===----------------------------------------------------------------------===//

#include "Target.h"

#include "AST.h"
#include "mxsim/Simulator.h"

#include <algorithm>

using namespace mx::sim;
using namespace mx::sim::ptx;

namespace {

enum class Chips : uint8_t {
  From100,     ///< sm_100 and later, with or without a suffix
  Hopper,      ///< sm_90a
  Only100a,    ///< sm_100a
  DataCenterA, ///< sm_100a, sm_103a
  DataCenter,  ///< sm_100a, sm_100f, sm_103a, sm_103f
  Consumer,    ///< sm_120a, sm_120f, sm_121a, sm_121f
  ConsumerA,   ///< sm_120a, sm_121a
  Blackwell,   ///< DataCenter and Consumer
  Suffix,      ///< Blackwell and sm_90a
};

bool has(Chips chips, const Target &t) {
  bool isDataCenter = (t.number == 100 || t.number == 103) && t.suffix;
  bool isConsumer = t.isConsumerBlackwell() && t.suffix;
  bool isHopper = t.number == 90 && t.suffix == 'a';
  switch (chips) {
  case Chips::From100:
    return t.number >= 100;
  case Chips::Hopper:
    return isHopper;
  case Chips::Only100a:
    return t.number == 100 && t.suffix == 'a';
  case Chips::DataCenterA:
    return isDataCenter && t.suffix == 'a';
  case Chips::DataCenter:
    return isDataCenter;
  case Chips::Consumer:
    return isConsumer;
  case Chips::ConsumerA:
    return isConsumer && t.suffix == 'a';
  case Chips::Blackwell:
    return isDataCenter || isConsumer;
  case Chips::Suffix:
    return isDataCenter || isConsumer || isHopper;
  }
  return true;
}

const char *names(Chips chips) {
  switch (chips) {
  case Chips::From100:
    return "sm_100 or later";
  case Chips::Hopper:
    return "sm_90a";
  case Chips::Only100a:
    return "sm_100a";
  case Chips::DataCenterA:
    return "sm_100a or sm_103a";
  case Chips::DataCenter:
    return "sm_100a, sm_100f, sm_103a or sm_103f";
  case Chips::Consumer:
    return "sm_120a, sm_120f, sm_121a or sm_121f";
  case Chips::ConsumerA:
    return "sm_120a or sm_121a";
  case Chips::Blackwell:
    return "sm_100a, sm_103a, sm_120a or sm_121a, or their family (f)";
  case Chips::Suffix:
    return "sm_90a, sm_100a, sm_103a, sm_120a or sm_121a, or their family (f)";
  }
  return "";
}

bool hasAny(const Instruction &i, std::initializer_list<const char *> parts) {
  return std::any_of(
      i.modifiers.begin(), i.modifiers.end(), [&](std::string_view m) {
        return std::any_of(parts.begin(), parts.end(), [&](const char *part) {
          return m.substr(0, std::string_view(part).size()) == part;
        });
      });
}
bool hasModifier(const Instruction &i, std::string_view name) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), name) !=
         i.modifiers.end();
}

struct Rule {
  std::string_view opcode;
  /// Null if the rule always applies.
  bool (*applies)(const Instruction &);
  Chips chips;
  const char *what;
};
using I = const Instruction &;

bool isMixed(I i) {
  return hasModifier(i, "f32") &&
         (hasModifier(i, "f16") || hasModifier(i, "bf16"));
}
bool isPair(I i) { return hasModifier(i, "f32x2"); }
bool hasThreeInputs(I i) {
  return hasModifier(i, "f32") && i.operands.size() == 4;
}
bool isWide(I i) {
  return hasModifier(i, "v8") ||
         (hasModifier(i, "v4") && hasAny(i, {"b64", "u64", "s64", "f64"}));
}
bool isSmallFloat(I i) { return hasAny(i, {"e2m1", "e2m3", "e3m2", "ue8m0"}); }
bool isMatrixOfBytes(I i) { return hasAny(i, {"m16n16", "m8n16", "m16n8"}); }
bool isSaturatedTf32(I i) {
  return hasModifier(i, "tf32") && hasModifier(i, "satfinite") &&
         (hasModifier(i, "rn") || hasModifier(i, "rz"));
}
bool isStochastic(I i) { return hasModifier(i, "rs"); }

constexpr Rule rules[] = {
    {"wgmma", nullptr, Chips::Hopper, "wgmma"},
    {"tcgen05", [](I i) { return hasModifier(i, "kind::i8"); }, Chips::Only100a,
     "integer tcgen05.mma"},
    {"tcgen05",
     [](I i) { return hasModifier(i, "shift") || hasAny(i, {"scale_vec::"}); },
     Chips::DataCenterA, "tcgen05.shift and no .scale_vec for tcgen05.mma"},
    {"tcgen05", nullptr, Chips::DataCenter, "tensor memory and no tcgen05"},
    {"mma",
     [](I i) { return hasModifier(i, "m16n8k128") && hasAny(i, {"kind::"}); },
     Chips::ConsumerA, "sparse 4-bit mma.sync with block scales"},
    {"mma", [](I i) { return hasModifier(i, "block_scale"); }, Chips::Consumer,
     "mma.sync with block scales"},
    {"mma", isSmallFloat, Chips::Consumer, "4- or 6-bit mma.sync"},
    {"mma", [](I i) { return hasAny(i, {"kind::"}); }, Chips::Blackwell,
     "mma.sync with a kind"},
    {"ldmatrix", isMatrixOfBytes, Chips::Blackwell, "ldmatrix of this shape"},
    {"stmatrix", isMatrixOfBytes, Chips::Blackwell, "stmatrix of this shape"},
    {"cvt", isStochastic, Chips::DataCenterA, "stochastic rounding"},
    {"cvt", isSmallFloat, Chips::Blackwell, "conversions of these types"},
    {"cvt", isSaturatedTf32, Chips::From100,
     ".satfinite of conversions to tf32"},
    {"redux", [](I i) { return hasModifier(i, "f32"); }, Chips::DataCenter,
     "f32 redux"},
    {"cp",
     [](I i) {
       return hasAny(i, {"tile::gather4", "tile::scatter4", "cta_group::"});
     },
     Chips::DataCenter, "gather, scatter or .cta_group of bulk tensor copies"},
    {"cp", [](I i) { return hasModifier(i, "cp_mask"); }, Chips::From100,
     ".cp_mask"},
    {"clusterlaunchcontrol", [](I i) { return hasAny(i, {"multicast"}); },
     Chips::Blackwell, "multicast of clusterlaunchcontrol"},
    {"clusterlaunchcontrol", nullptr, Chips::From100, "clusterlaunchcontrol"},
    {"tensormap", [](I i) { return hasModifier(i, "replace"); }, Chips::Suffix,
     "tensormap.replace"},
    {"setmaxnreg", nullptr, Chips::Suffix, "setmaxnreg"},
    {"st", [](I i) { return hasModifier(i, "bulk"); }, Chips::From100,
     "st.bulk"},
    {"ld", isWide, Chips::From100, "256-bit loads"},
    {"st", isWide, Chips::From100, "256-bit stores"},
    {"min", hasThreeInputs, Chips::From100, "three-input f32 min"},
    {"max", hasThreeInputs, Chips::From100, "three-input f32 max"},
    {"add", isPair, Chips::From100, "f32x2 arithmetic"},
    {"sub", isPair, Chips::From100, "f32x2 arithmetic"},
    {"mul", isPair, Chips::From100, "f32x2 arithmetic"},
    {"fma", isPair, Chips::From100, "f32x2 arithmetic"},
    {"add", isMixed, Chips::From100, "mixed-precision arithmetic"},
    {"sub", isMixed, Chips::From100, "mixed-precision arithmetic"},
    {"fma", isMixed, Chips::From100, "mixed-precision arithmetic"},
};

} // namespace

bool mx::sim::ptx::parseTarget(std::string_view text, Target &target) {
  if (text.substr(0, 3) != "sm_")
    return false;
  target = {};
  size_t at = 3;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    target.number =
        std::min(target.number * 10 + unsigned(text[at] - '0'), 10000u);
  std::string_view suffix = text.substr(at);
  if (at == 3 || (suffix != "" && suffix != "a" && suffix != "f"))
    return false;
  target.suffix = suffix.empty() ? 0 : suffix[0];
  return true;
}

// Code for a chip runs on later chips, unless a suffix restricts the code to
// the chip (a) or to its family (f). For sm_103, the simulator only supports
// features of sm_100.
bool mx::sim::isSimulated(std::string_view text) {
  Target target;
  if (!parseTarget(text, target))
    return false;
  bool isBlackwell = target.number == 100 || target.number == 103 ||
                     target.number == 120 || target.number == 121;
  switch (target.suffix) {
  case 'a':
    return isBlackwell || target.number == 90;
  case 'f':
    return isBlackwell;
  default:
    return isBlackwell || target.number <= 100;
  }
}

std::string mx::sim::ptx::missingOn(const Target &target, std::string_view name,
                                    const Instruction &i) {
  if (target.number < 90)
    return {};
  for (const Rule &rule : rules) {
    if (rule.opcode != i.opcode || (rule.applies && !rule.applies(i)))
      continue;
    if (!has(rule.chips, target))
      return std::string(name) + " has no " + rule.what + ": expected " +
             names(rule.chips);
  }
  return {};
}

SmLimits mx::sim::ptx::limitsOf(const Target &target) {
  if (target.isConsumerBlackwell())
    return {1536, 24, 100 * 1024};
  return {2048, 32, 228 * 1024};
}
