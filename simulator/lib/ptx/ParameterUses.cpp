//===- ParameterUses.cpp - Inference of parameter uses --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows words of parameters through registers. A word is an address if it is
// the base of a memory access, with or without an offset. A word is a number if
// it is an operand of a float instruction. Tensor maps are operands of tensor
// copies.
//===----------------------------------------------------------------------===//

#include "ParameterUses.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mx::sim;
using namespace mx::sim::ptx;

namespace {

class Uses {
public:
  explicit Uses(Function &kernel) : kernel(kernel) {}
  void find();

private:
  /// Word of a parameter at an offset. If `isAddress`, the address of the word
  /// instead of its value.
  struct Origin {
    size_t parameter;
    uint32_t offset;
    bool isAddress;
    bool operator<(const Origin &o) const {
      return std::tie(parameter, offset, isAddress) <
             std::tie(o.parameter, o.offset, o.isAddress);
    }
  };
  /// Limit on the words that contribute to a value. Sums of more words are not
  /// attributed to any word.
  static constexpr size_t kMostOrigins = 4;
  static constexpr uint32_t kMapBytes = 128;

  Function &kernel;
  std::map<uint32_t, std::set<Origin>> of; ///< keyed by register
  bool hasChanged = false;

  size_t parameterOf(const Operand &op) const {
    auto it = std::find(kernel.params.begin(), kernel.params.end(), op.var);
    return op.kind == Operand::Var && it != kernel.params.end()
               ? it - kernel.params.begin()
               : ~size_t(0);
  }
  std::set<Origin> originsOf(const Operand &op) const;
  static std::set<Origin> moved(const std::set<Origin> &origins,
                                const Operand &by);
  void define(const Operand &op, const std::set<Origin> &origins);
  void use(const Operand &op, ParameterUse how, std::string_view type);
  void useMap(const Operand &op, const Instruction &i);
  void load(const Instruction &i);
  void visit(const Instruction &i);
};

} // namespace

std::set<Uses::Origin> Uses::originsOf(const Operand &op) const {
  if (size_t k = parameterOf(op); k < kernel.params.size())
    return {{k, uint32_t(op.value), true}};
  auto it = op.kind == Operand::Reg ? of.find(op.reg) : of.end();
  return it == of.end() ? std::set<Origin>() : it->second;
}

/// Returns the origins after `by` is added to the value. If an origin is the
/// address of a parameter, the result is a different offset in the parameter.
std::set<Uses::Origin> Uses::moved(const std::set<Origin> &origins,
                                   const Operand &by) {
  std::set<Origin> all;
  for (Origin o : origins) {
    if (o.isAddress && by.kind == Operand::Imm)
      o.offset += uint32_t(by.value);
    all.insert(o);
  }
  return all;
}

void Uses::define(const Operand &op, const std::set<Origin> &origins) {
  if (op.kind != Operand::Reg || origins.empty())
    return;
  std::set<Origin> &all = of[op.reg];
  if (all.size() + origins.size() > 2 * kMostOrigins)
    return;
  size_t before = all.size();
  all.insert(origins.begin(), origins.end());
  hasChanged |= all.size() != before;
}

/// Records a use. An address overrides a number because it is more specific.
void Uses::use(const Operand &op, ParameterUse how, std::string_view type) {
  std::set<Origin> origins = originsOf(op);
  if (origins.size() > kMostOrigins)
    return;
  for (const Origin &o : origins) {
    ParameterInfo &p = kernel.info.parameters[o.parameter];
    if (o.isAddress)
      continue;
    for (ParameterWord &word : p.words) {
      if (word.offset != o.offset || word.use >= how)
        continue;
      // Offsets also have 64 bits, so a sum of two words does not reveal which
      // of the words is the address.
      if (how == ParameterUse::Address &&
          (word.bytes != 8 || origins.size() > 1))
        continue;
      word.use = how;
      word.type = type;
      hasChanged = true;
    }
  }
}

/// Records an operand that is the address of a tensor map. The rank is the
/// digit of a modifier such as "2d".
void Uses::useMap(const Operand &op, const Instruction &i) {
  unsigned rank = 0;
  for (std::string_view m : i.modifiers)
    if (m.size() == 2 && m[0] >= '1' && m[0] <= '5' && m[1] == 'd')
      rank = m[0] - '0';
  std::set<Origin> origins = originsOf(op.parts[0]);
  if (origins.size() > kMostOrigins)
    return;
  for (const Origin &o : origins) {
    ParameterInfo &p = kernel.info.parameters[o.parameter];
    uint32_t at = o.offset + uint32_t(op.value);
    if (!o.isAddress || uint64_t(at) + kMapBytes > p.bytes)
      continue;
    auto it =
        std::find_if(p.words.begin(), p.words.end(), [&](ParameterWord &w) {
          return w.use == ParameterUse::TensorMap && w.offset == at;
        });
    if (it == p.words.end())
      it = p.words.insert(it, {at, kMapBytes, ParameterUse::TensorMap, {}});
    it->rank = std::max(it->rank, rank);
  }
}

/// Handles ld.param of a word, or of the words of a vector.
void Uses::load(const Instruction &i) {
  if (i.operands.size() < 2 || i.operands[1].kind != Operand::Memory ||
      i.operands[1].parts.empty())
    return;
  const Operand &from = i.operands[1].parts[0];
  std::set<Origin> base = originsOf(from);
  Type type;
  if (base.size() != 1 || !base.begin()->isAddress || i.modifiers.empty() ||
      !parseType(i.modifiers.back(), type))
    return;
  Origin at = *base.begin();
  at.offset += uint32_t(i.operands[1].value);
  const Operand &to = i.operands[0];
  std::vector<Operand> one = {to};
  for (const Operand &op : to.kind == Operand::Vector ? to.parts : one) {
    ParameterInfo &p = kernel.info.parameters[at.parameter];
    uint32_t bytes = type.bits / 8;
    auto isSame = [&](const ParameterWord &w) { return w.offset == at.offset; };
    if (at.offset + bytes <= p.bytes &&
        std::none_of(p.words.begin(), p.words.end(), isSame))
      p.words.push_back({at.offset, bytes, ParameterUse::Unknown, {}});
    define(op, {{at.parameter, at.offset, false}});
    if (type.kind == 'F')
      use(op, ParameterUse::Number, i.modifiers.back());
    at.offset += bytes;
  }
}

void Uses::visit(const Instruction &i) {
  auto has = [&](std::string_view word) {
    return std::count(i.modifiers.begin(), i.modifiers.end(), word) != 0;
  };
  if (i.opcode == "ld" && has("param"))
    return load(i);
  bool usesMaps = has("tensor") || has("tensormap") || i.opcode == "tensormap";
  for (const Operand &op : i.operands) {
    if (op.kind != Operand::Memory || op.parts.empty())
      continue;
    bool isMap = usesMaps && (op.parts.size() > 1 || has("tensormap"));
    if (isMap)
      useMap(op, i);
    use(op.parts[0], ParameterUse::Address, {});
  }
  if (i.operands.empty())
    return;
  if (i.opcode == "cvta" && i.operands.size() > 1 && !has("param"))
    use(i.operands[1], ParameterUse::Address, {});
  // The last modifier is the type of the operands.
  static constexpr std::string_view floats[] = {"f16", "bf16",  "f32",
                                                "f64", "f16x2", "bf16x2"};
  if (!i.modifiers.empty() && i.opcode != "ld" &&
      std::count(std::begin(floats), std::end(floats), i.modifiers.back()))
    for (size_t k = i.opcode == "st" ? 0 : 1; k < i.operands.size(); ++k)
      use(i.operands[k], ParameterUse::Number, i.modifiers.back());
  if (i.opcode == "mov" || i.opcode == "cvta" || i.opcode == "add" ||
      i.opcode == "sub" || i.opcode == "selp")
    for (size_t k = 1; k < i.operands.size(); ++k)
      define(i.operands[0],
             i.opcode == "add" && i.operands.size() == 3
                 ? moved(originsOf(i.operands[k]), i.operands[3 - k])
                 : originsOf(i.operands[k]));
  if (i.opcode == "mad" && i.operands.size() == 4)
    define(i.operands[0], originsOf(i.operands[3]));
}

void Uses::find() {
  // Each pass follows values through one more branch to an earlier instruction.
  // Three passes suffice for compiler output.
  for (unsigned pass = 0; pass < 3; ++pass) {
    hasChanged = false;
    for (const Instruction &i : kernel.body)
      visit(i);
    if (!hasChanged)
      break;
  }
  for (ParameterInfo &p : kernel.info.parameters) {
    std::sort(p.words.begin(), p.words.end(),
              [](const ParameterWord &a, const ParameterWord &b) {
                return a.offset < b.offset;
              });
    // If instructions read overlapping words, keep the first word.
    uint32_t end = 0;
    p.words.erase(std::remove_if(p.words.begin(), p.words.end(),
                                 [&](const ParameterWord &w) {
                                   bool isCovered = w.offset < end;
                                   if (!isCovered)
                                     end = w.offset + w.bytes;
                                   return isCovered;
                                 }),
                  p.words.end());
    // Fall back to the alignment of CUtensorMap if no instruction uses the
    // parameter.
    bool isMap = p.words.empty() ? p.align == 64
                                 : p.words[0].use == ParameterUse::TensorMap;
    if (p.bytes == kMapBytes && isMap)
      p.use = ParameterUse::TensorMap;
  }
}

static bool namesDynamicShared(const std::vector<Operand> &operands) {
  for (const Operand &op : operands)
    if ((op.var && op.var->isExtern && op.var->space == Space::Shared) ||
        namesDynamicShared(op.parts))
      return true;
  return false;
}

void mx::sim::ptx::findParameterUses(const ptx::Module &module,
                                     Function &kernel) {
  for (ParameterInfo &p : kernel.info.parameters) {
    p.use = ParameterUse::Unknown;
    p.words.clear();
  }
  Uses(kernel).find();
  auto usesShared = [](const Function &f) {
    for (const Instruction &i : f.body)
      if (namesDynamicShared(i.operands))
        return true;
    return false;
  };
  kernel.info.usesDynamicShared = usesShared(kernel);
  for (const Function &f : module.functions)
    kernel.info.usesDynamicShared |= !f.isEntry && usesShared(f);
}
