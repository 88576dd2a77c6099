//===- InstructionSet.h - instructions of a machine -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder gets its instructions through this interface. exec/ implements
// those of PTX (exec/Instructions.h).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_INSTRUCTIONSET_H
#define MXSIM_LIB_MACHINE_INSTRUCTIONSET_H

#include "Program.h"

#include <string_view>

namespace mx::sim {

class Decoder;

/// Decodes an instruction; reports errors through Decoder::unsupported.
using DecodeFn = void (*)(Decoder &);

/// A function of the device's run time, which PTX calls and no module defines.
struct SystemCall {
  std::string_view name;
  size_t arguments;
  bool hasResult;
  /// aux: the first of Program::extra, which hold the registers with
  /// the addresses of the arguments and of the result in parameter space.
  Handler handler;
};

/// Immutable, and shared by all machines.
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
  /// Returns a handler in place of a load or store: it finds, counts and times
  /// bytes, and moves none.
  virtual Handler touchOf(const ptx::Instruction &) const { return nullptr; }
  /// Returns the lanes whose values of `slot`, block scales of an mma, are
  /// read.
  virtual uint32_t lanesOfScales(Warp &, const Instr *, Slot) const {
    return ~0u;
  }
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_INSTRUCTIONSET_H
