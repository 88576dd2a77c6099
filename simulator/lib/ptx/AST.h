//===- AST.h - a parsed PTX module ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parser makes of PTX text: names are resolved, scopes are gone,
// instructions are still words. Views point into ptx::Module::text.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_AST_H
#define MXSIM_LIB_PTX_AST_H

#include "Target.h"
#include "mxsim/Simulator.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace mx::sim::ptx {

enum class Space : uint8_t {
  Generic,
  Global,
  Const,
  Shared,
  Local,
  Param,
  Reg
};

/// The fundamental types; the kind is B (bits), U, S or F, with P for .pred.
struct Type {
  char kind = 'B';
  uint16_t bits = 32;
  bool operator==(const Type &o) const {
    return kind == o.kind && bits == o.bits;
  }
};
/// "b32", "u8", "pred", "bf16x2", ...; false when it is not a type.
bool parseType(std::string_view word, Type &type);

/// A variable with an address: module scope, function scope or a parameter.
struct Variable {
  std::string_view name;
  Space space = Space::Global;
  uint32_t align = 1;
  uint64_t bytes = 0;
  bool isExtern = false; ///< dynamic shared memory, or defined elsewhere
  bool isVisible = false, isWeak = false; ///< to other modules
  std::vector<uint8_t> init;
  /// Addresses inside the initialiser: the address of `target` + addend goes
  /// to `offset`.
  struct Fixup {
    uint64_t offset;
    unsigned bytes;
    std::string_view target;
    int64_t addend;
  };
  std::vector<Fixup> fixups;
  uint32_t line = 0;
  std::string_view type; ///< as declared: "u64"
  /// Filled by whoever places variables: the address in its space.
  uint64_t address = 0;
  bool placed = false;
  /// In another module that this one is linked with; else null.
  Variable *definition = nullptr;
};

struct Register {
  std::string_view name;
  Type type;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,     ///< `reg`, negated with `negated` (predicates); `name`: .b0, .h1
    Imm,     ///< `value`: an integer
    F32,     ///< `value`: bits
    F64,     ///< `value`: bits
    Special, ///< %tid.x: `name`
    Var,     ///< address of `var` plus `value`
    Func,    ///< a function's name: `name`
    Label,   ///< `value`: instruction index
    Vector,  ///< {a, b, ...}: `parts`
    Memory,  ///< [base + value, {parts...}]: see below
    Sink,    ///< _
    Pair,    ///< a|b: two `parts`
    List,    ///< (a, b) of a call: `parts`
  };
  Kind kind = Imm;
  bool negated = false;
  uint32_t reg = 0;
  int64_t value = 0;
  Variable *var = nullptr;
  std::string_view name;
  /// Memory: parts[0] is the base (Reg, Var or Imm), the others are what
  /// follows it inside the brackets (tensor coordinates).
  std::vector<Operand> parts;
};

struct Instruction {
  std::string_view opcode;                 ///< "tcgen05", "add"
  std::vector<std::string_view> modifiers; ///< "mma", "cta_group::1", ...
  std::vector<Operand> operands;
  bool guarded = false, guardNegated = false;
  uint32_t guard = 0; ///< register
  uint32_t line = 0;
  int32_t loc = -1; ///< index in Function::locs

  std::string text() const; ///< opcode and modifiers as written
};

/// Whether `i` is part of `text`, not of another module that is linked to it.
inline bool isOfText(const Instruction &i, const std::string &text) {
  const char *at = i.opcode.data();
  return at >= text.data() && at < text.data() + text.size();
}

/// What .loc says: a place, and where the compiler inlined it, the function's
/// name (`nameLabel` + `nameOffset` in .debug_str) and the call.
struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0;
  std::string_view nameLabel = {};
  uint32_t nameOffset = 0;
  int32_t caller = -1; ///< index in Function::locs, less than its own
};

struct Module;

struct Function {
  std::string_view name;
  const Module *home = nullptr;
  uint32_t index = 0;     ///< among those of all modules that are linked
  bool isVisible = false; ///< to other modules
  bool isEntry = false, isDefined = false;
  KernelInfo info;
  std::vector<Variable *> params, results;
  /// Old style `.func (.reg .u32 r) f (.reg .u32 a)`: registers instead.
  std::vector<uint32_t> paramRegs, resultRegs;
  std::vector<Register> registers;
  std::vector<Variable *> locals; ///< .local, .shared and .param in the body
  std::vector<Instruction> body;
  std::vector<SourceLocation> locs;
  uint32_t line = 0;
};

/// The name of the variable that malloc allocates from. A module has it when
/// it declares malloc; no name in PTX has a blank.
inline constexpr std::string_view kHeapName = "device heap";
inline constexpr uint64_t kHeapBytes = 8u << 20; ///< the CUDA runtime's default

/// A function and one of its lines in the source: file, line, column.
using SourceKey =
    std::tuple<std::string_view, std::string_view, uint32_t, uint32_t>;
using SharedLines =
    std::map<SourceKey, std::shared_ptr<const std::vector<SourceLine>>>;

struct Module {
  std::string text, name, target;
  unsigned version = 0;           ///< 91 for .version 9.1
  Target chip;                    ///< `target`, parsed
  std::deque<Variable> variables; ///< owns all, of every scope
  std::vector<Variable *> globals;
  std::deque<Function> functions;
  std::unordered_map<std::string_view, Function *> functionByName;
  std::unordered_map<uint32_t, std::string> files;
  SharedLines sharedLines; ///< from comments of merged kernels
  /// The section .debug_str, and where its labels stand.
  std::string debugText;
  std::unordered_map<std::string_view, size_t> debugLabels;
  /// Calls go to functions of these too; itself alone when nothing is linked.
  std::vector<Module *> linked = {this};
  uint32_t numFunctions = 0; ///< of all of them
};

/// Lets modules use each other's variables and functions: what one declares
/// .extern and another defines .visible or .weak. They must be linked before
/// they are loaded, and live together. Returns what is defined twice, or {}.
std::string link(const std::vector<Module *> &modules);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_AST_H
