//===- AST.h - Parsed PTX modules -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output of the parser. Names are resolved and scopes are flattened, but the
// opcode and modifiers of an instruction are still words. All string views
// point into ptx::Module::text.
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

/// Fundamental type. The kind is B (bits), U (unsigned), S (signed), F (float)
/// or P (.pred).
struct Type {
  char kind = 'B';
  uint16_t bits = 32;
  bool operator==(const Type &o) const {
    return kind == o.kind && bits == o.bits;
  }
};
/// Parses "b32", "u8", "pred", "bf16x2", ... Returns false if `word` is not a
/// type.
bool parseType(std::string_view word, Type &type);

/// Variable with an address: at module scope, at function scope, or a
/// parameter.
struct Variable {
  std::string_view name;
  Space space = Space::Global;
  uint32_t align = 1;
  uint64_t bytes = 0;
  bool isExtern = false; ///< dynamic shared memory, or defined elsewhere
  bool isVisible = false, isWeak = false; ///< for other modules
  std::vector<uint8_t> init;
  /// Address in the initializer: the address of `target` plus the addend,
  /// stored at `offset`.
  struct Fixup {
    uint64_t offset;
    unsigned bytes;
    std::string_view target;
    int64_t addend;
  };
  std::vector<Fixup> fixups;
  uint32_t line = 0;
  std::string_view type; ///< as declared: "u64"
  /// Address in the state space, set when the variable is placed.
  uint64_t address = 0;
  bool placed = false;
  /// Definition in another linked module, or null.
  Variable *definition = nullptr;
};

struct Register {
  std::string_view name;
  Type type;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,     ///< `reg`; `negated` for !p; `name`: component such as b0 or h1
    Imm,     ///< `value`: an integer
    F32,     ///< `value`: bits
    F64,     ///< `value`: bits
    Special, ///< special register such as %tid.x: `name`
    Var,     ///< address of `var` plus `value`
    Func,    ///< a function's name: `name`
    Label,   ///< `value`: instruction index
    Vector,  ///< {a, b, ...}: `parts`
    Memory,  ///< [base + value, {parts...}]; see `parts`
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
  /// Memory: parts[0] is the base (Reg, Var or Imm), followed by the remaining
  /// operands in the brackets (tensor coordinates).
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

/// Returns true if `i` belongs to the module with text `text` rather than to a
/// linked module.
inline bool isOfText(const Instruction &i, const std::string &text) {
  const char *at = i.opcode.data();
  return at >= text.data() && at < text.data() + text.size();
}

/// Location from .loc. For inlined code, the location includes the function
/// name (`nameLabel` + `nameOffset` in .debug_str) and the call site.
struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0;
  std::string_view nameLabel = {};
  uint32_t nameOffset = 0;
  int32_t caller = -1; ///< call site: an earlier index in Function::locs, or -1
};

struct Module;

struct Function {
  std::string_view name;
  const Module *home = nullptr;
  uint32_t index = 0;     ///< index among all linked modules
  bool isVisible = false; ///< visible to other modules
  bool isEntry = false, isDefined = false;
  KernelInfo info;
  /// Values of .minnctapersm and .maxnreg; 0 if absent.
  uint32_t minimumCtas = 0, maximumRegisters = 0;
  std::vector<Variable *> params, results;
  /// Parameters and results of the old style, which declares registers:
  /// `.func (.reg .u32 r) f (.reg .u32 a)`.
  std::vector<uint32_t> paramRegs, resultRegs;
  std::vector<Register> registers;
  std::vector<Variable *> locals; ///< .local, .shared and .param in the body
  std::vector<Instruction> body;
  std::vector<SourceLocation> locs;
  uint32_t line = 0;
};

/// Name of the variable that malloc allocates from. A module that declares
/// malloc contains this variable. PTX names cannot contain spaces, so there is
/// no conflict.
inline constexpr std::string_view kHeapName = "device heap";
/// Default heap size of the CUDA runtime.
inline constexpr uint64_t kHeapBytes = 8u << 20;

/// Function and source line: file, line, column.
using SourceKey =
    std::tuple<std::string_view, std::string_view, uint32_t, uint32_t>;
using SharedLines =
    std::map<SourceKey, std::shared_ptr<const std::vector<SourceLine>>>;

struct Module {
  std::string text, name, target;
  unsigned version = 0;           ///< 91 for .version 9.1
  Target chip;                    ///< `target`, parsed
  std::deque<Variable> variables; ///< owns the variables of all scopes
  std::vector<Variable *> globals;
  std::deque<Function> functions;
  std::unordered_map<std::string_view, Function *> functionByName;
  std::unordered_map<uint32_t, std::string> files;
  SharedLines sharedLines; ///< source lines of merged kernels, from comments
  /// Contents of section .debug_str, and the offsets of its labels.
  std::string debugText;
  std::unordered_map<std::string_view, size_t> debugLabels;
  /// Modules that calls may resolve to, including this module.
  std::vector<Module *> linked = {this};
  uint32_t numFunctions = 0; ///< number in all linked modules
};

/// Resolves .extern declarations against .visible or .weak definitions in other
/// modules. Returns an error that names a duplicate definition, or an empty
/// string. Modules must be linked before they are loaded. All linked modules
/// must stay alive while any of them is used.
std::string link(const std::vector<Module *> &modules);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_AST_H
