//===- MachineCode.h - what ptxas makes of a kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a listing of nvdisasm (-hex -gp -c) of machine code that ptxas
// -lineinfo has made of PTX without .loc: each instruction has the line of the
// PTX that it comes from, and control bits (Huerta and others, "Analyzing
// modern NVIDIA GPU cores", arXiv 2503.20481).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MACHINECODE_H
#define MXSIM_LIB_TIME_MACHINECODE_H

#include "Prices.h"

#include <string_view>
#include <vector>

namespace mx::sim::time {

constexpr unsigned kCounters = 6;

/// Constants come to an SM in lines.
constexpr uint32_t kConstantLine = 64;
/// What a machine instruction reads of constants.
struct Constants {
  enum Way : uint8_t {
    None,
    Operand, ///< when it issues
    Load,    ///< its result comes later
    Index,   ///< the same, and a register says where
  } way = None;
  uint32_t line = 0; ///< bank and offset
};
/// A line of bank 0, in which parameters are, too.
constexpr uint32_t constantLineOf(uint32_t offset) {
  return offset / kConstantLine;
}
/// The offset of a kernel's parameters.
uint32_t parametersAt(unsigned target);

struct MachineInstr {
  uint32_t line = 0; ///< of the PTX
  std::string_view opcode;
  Pipe pipe = Pipe::None;
  /// Cycles until the warp may issue the next one.
  uint8_t stall = 0;
  /// The counter that says when its result is there, and those for which it
  /// waits, bit by bit: where results come after no fixed time.
  uint8_t counter = kCounters, waits = 0;
  Constants constants;
};

/// Instructions that are executed one after the other.
struct MachineBlock {
  std::vector<MachineInstr> code;
  unsigned depth = 0; ///< loops around it
};

/// Whether a listing has a kernel.
bool hasMachineCode(std::string_view text, std::string_view name);

/// The blocks of a kernel in the order of the text; none where the listing
/// does not have the kernel.
std::vector<MachineBlock> readMachineCode(std::string_view text,
                                          std::string_view name);

/// Whether nothing that follows in the text need be executed after it.
bool isJump(std::string_view opcode);

/// What gives an engine its work, which other instructions of the line prepare.
bool givesWork(std::string_view opcode);
/// mma.sync.
bool isMmaSync(std::string_view opcode);

/// The pipe of a machine instruction by its opcode ("IMAD", "UTMALDG").
Pipe pipeOf(std::string_view opcode);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MACHINECODE_H
