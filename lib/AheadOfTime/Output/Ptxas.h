//===- Ptxas.h - Invocation of NVIDIA's assembler ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas is not part of mx. It is optional, because drivers also compile PTX.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
#define MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H

#include "llvm/Support/Error.h"
#include <string>

namespace mx {

/// Returns the path of ptxas, or an empty string if no ptxas is found or `name`
/// is "none". A `name` without a slash is searched on PATH and returned
/// unchanged if the search fails. If `name` is empty, searches MX_PTXAS, PATH,
/// CUDA_HOME, NVIDIA's packages next to the wheel and /usr/local/cuda for the
/// first ptxas supporting `chip` and the PTX version.
std::string findPtxas(const std::string &name, const std::string &chip);

/// Returns the cubin of `ptx`, or the assembler's error.
llvm::Expected<std::string> assemble(const std::string &ptxas,
                                     const std::string &chip,
                                     const std::string &ptx);

struct MachineCodeTools {
  std::string ptxas, nvdisasm;
};

/// Finds ptxas with findPtxas, and nvdisasm in MX_NVDISASM, on PATH or in the
/// directory of ptxas. Fails if either tool is missing.
llvm::Expected<MachineCodeTools> findMachineCodeTools(const std::string &ptxas,
                                                      const std::string &chip);

/// Returns the machine code of `ptx`, annotated with PTX line numbers, in the
/// format of the simulator (simulator/scripts/list-machine-code).
llvm::Expected<std::string> listMachineCode(const MachineCodeTools &tools,
                                            const std::string &chip,
                                            const std::string &ptx);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
