//===- DataFlow.cpp - Propagation of undefined operands -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include "../ptx/OpcodeClass.h"

#include <unordered_map>

using namespace mx::sim;

/// Returns how an instruction propagates undefined operands. Opcodes missing
/// from the table are classified as Decides: even a harmless use of an
/// undefined value is reported.
DataFlow mx::sim::dataFlowOf(const ptx::Instruction &i) {
  static const std::unordered_map<std::string_view, DataFlow> table = [] {
    std::unordered_map<std::string_view, DataFlow> t = {
        {"selp", DataFlow::Selects},    {"and", DataFlow::Masks},
        {"or", DataFlow::Masks},        {"ld", DataFlow::Loads},
        {"ldu", DataFlow::Loads},       {"st", DataFlow::Stores},
        {"stmatrix", DataFlow::Stores}, {"shfl", DataFlow::Shuffles},
        {"vote", DataFlow::Gathers},    {"match", DataFlow::Gathers},
        {"redux", DataFlow::Gathers},
    };
    for (std::string_view name :
         {"abs",   "add",      "bfe",   "bfi",  "bfind",      "bmsk",
          "brev",  "clz",      "cnot",  "cos",  "copysign",   "cvt",
          "cvta",  "div",      "dp2a",  "dp4a", "ex2",        "fma",
          "fns",   "isspacep", "lg2",   "lop3", "getctarank", "mad",
          "mad24", "mapa",     "max",   "min",  "mov",        "mul",
          "mul24", "neg",      "not",   "popc", "prmt",       "rcp",
          "rem",   "rsqrt",    "sad",   "set",  "setp",       "shf",
          "shl",   "shr",      "sin",   "slct", "sqrt",       "sub",
          "szext", "tanh",     "testp", "vadd", "vsub",       "vabsdiff",
          "vmin",  "vmax",     "vmad",  "vset", "vshl",       "vshr",
          "xor"})
      t.emplace(name, DataFlow::Computes);
    return t;
  }();
  auto it = table.find(i.opcode);
  if (it == table.end())
    return i.opcode == "mma" && hasModifier(i, "block_scale")
               ? DataFlow::Scales
               : DataFlow::Decides;
  // The carry of add.cc and the mbarrier of st.async are not tracked.
  for (std::string_view m : {"cc", "async", "bulk"})
    if (hasModifier(i, m))
      return DataFlow::Decides;
  for (std::string_view m : {"v2", "v4", "v8"})
    if (i.opcode == "mov" && hasModifier(i, m))
      return DataFlow::Moves;
  if (i.opcode == "setp" && (hasModifier(i, "and") || hasModifier(i, "or")))
    return DataFlow::Masks;
  return it->second;
}
