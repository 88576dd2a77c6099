//===- MachineCode.h - Machine code of a kernel -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the output of `nvdisasm -hex -gp -c` for code that `ptxas -lineinfo`
// assembled from PTX without .loc. The listing contains the PTX line and the
// control bits of each instruction (Huerta and others, "Analyzing modern NVIDIA
// GPU cores", arXiv 2503.20481).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MACHINECODE_H
#define MXSIM_LIB_TIME_MACHINECODE_H

#include "Prices.h"

#include <string_view>
#include <vector>

namespace mx::sim::time {

constexpr unsigned kCounters = 6;

/// Bytes per line of the constant caches.
constexpr uint32_t kConstantLine = 64;
/// Constant operand of a machine instruction.
struct Constants {
  enum Way : uint8_t {
    None,
    Operand, ///< read at issue
    Load,    ///< the result arrives later
    Index,   ///< like Load, at an offset in a register
  } way = None;
  uint32_t line = 0; ///< index of the constant line: bank and offset
};
/// Index of a line in bank 0, which also contains the parameters.
constexpr uint32_t constantLineOf(uint32_t offset) {
  return offset / kConstantLine;
}
/// Offset of the kernel parameters in bank 0.
uint32_t parametersAt(unsigned target);

struct MachineInstr {
  uint32_t line = 0; ///< line of the PTX
  std::string_view opcode;
  Pipe pipe = Pipe::None;
  /// Cycles until the warp may issue its next instruction.
  uint8_t stall = 0;
  /// Counter that signals a variable-latency result, and the mask of counters
  /// to wait for.
  uint8_t counter = kCounters, waits = 0;
  bool readsThree = false; ///< distinct registers, on the 32-lane pipe
  Constants constants;
};

/// Straight-line machine code.
struct MachineBlock {
  std::vector<MachineInstr> code;
  unsigned depth = 0; ///< number of surrounding loops
};

bool hasMachineCode(std::string_view text, std::string_view name);

/// Returns the blocks of the kernel in the order of the listing. The result is
/// empty if the listing lacks the kernel.
std::vector<MachineBlock> readMachineCode(std::string_view text,
                                          std::string_view name);

/// Returns true if control never reaches the next instruction.
bool isJump(std::string_view opcode);

/// Returns true for the instruction that starts an engine; the other
/// instructions of its PTX line only prepare operands.
bool givesWork(std::string_view opcode);
bool isMmaSync(std::string_view opcode);

/// Returns the pipe of an opcode such as "IMAD" or "UTMALDG".
Pipe pipeOf(std::string_view opcode);

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MACHINECODE_H
