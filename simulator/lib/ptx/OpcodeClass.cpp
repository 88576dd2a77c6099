//===- OpcodeClass.cpp - Instruction classes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies instructions for reports by the words of the PTX text.
//===----------------------------------------------------------------------===//

#include "OpcodeClass.h"

#include <algorithm>

using namespace mx::sim;

namespace {

struct Row {
  std::string_view opcode;
  std::string_view modifier; ///< required modifier, or prefix with '*'
  std::string_view name;
};

// The first matching row applies.
constexpr Row rows[] = {
    {"st", "async", "remote store"},
    {"red", "async", "remote store"},
    {"st", "bulk", "shared store"},
    {"ld", "global", "global load"},
    {"ldu", "", "global load"},
    {"ld", "shared*", "shared load"},
    {"ld", "param*", "parameter load"},
    {"ld", "const*", "constant load"},
    {"ld", "local", "local load"},
    {"ld", "", "generic load"},
    {"st", "global", "global store"},
    {"st", "shared*", "shared store"},
    {"st", "param*", "parameter store"},
    {"st", "local", "local store"},
    {"st", "", "generic store"},
    {"atom", "", "atomic"},
    {"red", "", "atomic"},
    {"multimem", "", "atomic"},
    {"tcgen05", "mma", "mma"},
    {"tcgen05", "cp", "tensor copy"},
    {"tcgen05", "shift", "tensor copy"},
    {"tcgen05", "ld", "tensor load"},
    {"tcgen05", "st", "tensor store"},
    {"tcgen05", "commit", "commit"},
    {"tcgen05", "wait*", "group wait"},
    {"tcgen05", "fence*", "fence"},
    {"tcgen05", "", "tensor allocation"},
    {"wgmma", "mma_async", "mma"},
    {"wgmma", "fence", "fence"},
    {"wgmma", "commit_group", "commit"},
    {"wgmma", "wait_group", "group wait"},
    {"mma", "", "mma"},
    {"wmma", "", "mma"},
    {"ldmatrix", "", "shared load"},
    {"stmatrix", "", "shared store"},
    {"cp", "commit_group", "commit"},
    {"cp", "wait_group", "group wait"},
    {"cp", "wait_all", "group wait"},
    {"cp", "prefetch", "prefetch"},
    {"cp", "bulk", "bulk copy"},
    {"cp", "", "cp.async"},
    {"prefetch", "", "prefetch"},
    {"prefetchu", "", "prefetch"},
    {"tensormap", "", "tensor map"},
    {"clusterlaunchcontrol", "", "launch control"},
    {"griddepcontrol", "", "launch control"},
    {"setmaxnreg", "", "launch control"},
    {"mbarrier", "try_wait", "mbarrier wait"},
    {"mbarrier", "test_wait", "mbarrier wait"},
    {"mbarrier", "", "mbarrier"},
    {"bar", "", "barrier"},
    {"barrier", "", "barrier"},
    {"fence", "", "fence"},
    {"membar", "", "fence"},
    {"bra", "", "control"},
    {"brx", "", "control"},
    {"call", "", "control"},
    {"ret", "", "control"},
    {"exit", "", "control"},
    {"trap", "", "control"},
    {"nanosleep", "", "control"},
    {"elect", "", "warp"},
    {"shfl", "", "warp"},
    {"vote", "", "warp"},
    {"match", "", "warp"},
    {"redux", "", "warp"},
    {"activemask", "", "warp"},
    {"movmatrix", "", "warp"},
    {"mov", "", "move"},
    {"prmt", "", "integer"},
    {"cvta", "", "move"},
    {"mapa", "", "move"},
    {"getctarank", "", "move"},
    {"isspacep", "", "move"},
    {"cvt", "", "conversion"},
    {"setp", "", "comparison"},
    {"set", "", "comparison"},
    {"selp", "", "comparison"},
    {"slct", "", "comparison"},
    {"ex2", "", "float function"},
    {"lg2", "", "float function"},
    {"sin", "", "float function"},
    {"cos", "", "float function"},
    {"tanh", "", "float function"},
    {"rcp", "", "float function"},
    {"rsqrt", "", "float function"},
    {"sqrt", "", "float function"},
};

/// Returns true for f32, bf16x2, ...: one or two letters and digits.
bool isFloatType(std::string_view m) {
  if (m.substr(0, 2) == "bf" || m.substr(0, 2) == "tf")
    m.remove_prefix(1);
  return m.size() > 1 && m[0] == 'f' && m[1] >= '0' && m[1] <= '9';
}

} // namespace

bool mx::sim::hasModifier(const ptx::Instruction &i,
                          std::string_view modifier) {
  if (modifier.empty())
    return true;
  bool isPrefix = modifier.back() == '*';
  if (isPrefix)
    modifier.remove_suffix(1);
  return std::any_of(
      i.modifiers.begin(), i.modifiers.end(), [&](std::string_view m) {
        return isPrefix ? m.substr(0, modifier.size()) == modifier
                        : m == modifier;
      });
}

std::string_view mx::sim::classOf(const ptx::Instruction &i) {
  for (const Row &row : rows)
    if (row.opcode == i.opcode && hasModifier(i, row.modifier))
      return row.name;
  return std::any_of(i.modifiers.begin(), i.modifiers.end(), isFloatType)
             ? "float"
             : "integer";
}

bool mx::sim::isWarpMma(const ptx::Instruction &i) {
  return i.opcode == "mma" ||
         (i.opcode == "wgmma" && hasModifier(i, "mma_async")) ||
         (i.opcode == "wmma" && hasModifier(i, "mma"));
}
