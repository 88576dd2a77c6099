//===- MachineCode.h - what ptxas makes of lines of PTX ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a listing of nvdisasm (-hex -gp -c) of machine code that ptxas
// -lineinfo has made of PTX without .loc: each instruction has the line of the
// PTX that it comes from.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_MACHINECODE_H
#define MX_LIB_SIMULATOR_TIME_MACHINECODE_H

#include "Prices.h"

#include <string_view>
#include <unordered_map>

namespace mx::sim::time {

/// What a line of PTX takes.
struct LinePrice {
  std::array<uint16_t, kPipes> counts = {}; ///< machine instructions by pipe
  /// Cycles until the warp may issue the next line, as ptxas has written into
  /// the instructions (Huerta and others, "Analyzing modern NVIDIA GPU cores",
  /// arXiv 2503.20481): where results come after a fixed time.
  uint16_t stalls = 0;
};

/// The lines of a kernel; empty where the listing does not have it. ptxas
/// repeats code where it unrolls loops and where paths part: of instructions
/// that are there n times, one counts.
std::unordered_map<uint32_t, LinePrice> readMachineCode(std::string_view text,
                                                        std::string_view name);

/// The pipe of a machine instruction by its opcode ("IMAD", "UTMALDG").
Pipe pipeOf(std::string_view opcode);

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_MACHINECODE_H
