//===- Ptxas.h - NVIDIA's assembler -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// It is no part of mx, and programs run without it: the driver compiles PTX.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
#define MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H

#include "llvm/Support/Error.h"
#include <string>

namespace mx {

/// The ptxas of that path, or the one on PATH if it is a name without a slash;
/// where PATH has none, the name. If it is empty, one that knows `chip` and
/// reads the PTX of kernels: MX_PTXAS, on PATH, in CUDA_HOME, where this is a
/// wheel in NVIDIA's packages beside it, in /usr/local/cuda. Empty where there
/// is none, and for "none".
std::string findPtxas(const std::string &name, const std::string &chip);

/// The cubin of `ptx`, or what the assembler says.
llvm::Expected<std::string> assemble(const std::string &ptxas,
                                     const std::string &chip,
                                     const std::string &ptx);

/// What lists the machine code of kernels.
struct MachineCodeTools {
  std::string ptxas, nvdisasm;
};

/// ptxas as above, and nvdisasm: MX_NVDISASM, on PATH, or beside ptxas. An
/// error where one of them is missing.
llvm::Expected<MachineCodeTools> findMachineCodeTools(const std::string &ptxas,
                                                      const std::string &chip);

/// The machine code of `ptx` with lines of the PTX, as the simulator reads it
/// (simulator/scripts/list-machine-code).
llvm::Expected<std::string> listMachineCode(const MachineCodeTools &tools,
                                            const std::string &chip,
                                            const std::string &ptx);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
