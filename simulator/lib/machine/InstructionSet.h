//===- InstructionSet.h - Interface of an instruction set -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Supplies instructions to the decoder. exec/ implements the instructions of
// PTX (exec/Instructions.h).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_INSTRUCTIONSET_H
#define MXSIM_LIB_MACHINE_INSTRUCTIONSET_H

#include "Program.h"

#include <string_view>

namespace mx::sim {

class Decoder;

/// Decodes an instruction; reports errors through Decoder::unsupported.
using DecodeFn = void (*)(Decoder &);

/// Device runtime function, callable from PTX without a definition.
struct SystemCall {
  std::string_view name;
  size_t arguments;
  bool hasResult;
  /// Executes the call. The Program::extra entries from index Instr::aux on are
  /// the registers with the parameter-space addresses of the arguments and of
  /// the result.
  Handler handler;
};

/// Set of instructions; immutable and shared by all machines.
class InstructionSet {
public:
  virtual ~InstructionSet() = default;

  /// Returns null for an unknown opcode.
  virtual DecodeFn decoderOf(std::string_view /*opcode*/) const {
    return nullptr;
  }
  virtual DataFlow dataFlowOf(const ptx::Instruction &) const {
    return DataFlow::Decides;
  }
  /// Returns null for an unknown name.
  virtual const SystemCall *findSystemCall(std::string_view /*name*/) const {
    return nullptr;
  }
  /// Returns a replacement handler for a load or store. The replacement
  /// resolves, counts and times the access but moves no bytes.
  virtual Handler touchOf(const ptx::Instruction &) const { return nullptr; }
  /// Returns the lanes of `slot`, a register of block scales, that an mma
  /// reads.
  virtual uint32_t lanesOfScales(Warp &, const Instr *, Slot) const {
    return ~0u;
  }
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_INSTRUCTIONSET_H
