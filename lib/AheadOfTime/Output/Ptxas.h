//===- Ptxas.h - Invocation of NVIDIA's assembler ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas is not part of mx and is optional: drivers compile PTX.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
#define MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H

#include "llvm/Support/Error.h"
#include <string>

namespace mx {

/// Returns the path of ptxas, or an empty string if none is found or `name` is
/// "none". A `name` without a slash is searched on PATH and returned unchanged
/// if not found. If `name` is empty, returns the first ptxas that supports
/// `chip` and the PTX version, from MX_PTXAS, PATH, CUDA_HOME, NVIDIA's
/// packages next to the wheel, /usr/local/cuda.
std::string findPtxas(const std::string &name, const std::string &chip);

/// Returns the cubin of `ptx`, or the assembler's error.
llvm::Expected<std::string> assemble(const std::string &ptxas,
                                     const std::string &chip,
                                     const std::string &ptx);

/// Tools that list machine code of kernels.
struct MachineCodeTools {
  std::string ptxas, nvdisasm;
};

/// Returns ptxas as above, and nvdisasm from MX_NVDISASM, PATH, or ptxas'
/// directory. Fails if either is missing.
llvm::Expected<MachineCodeTools> findMachineCodeTools(const std::string &ptxas,
                                                      const std::string &chip);

/// Returns the machine code of `ptx` with PTX lines, for the simulator
/// (simulator/scripts/list-machine-code).
llvm::Expected<std::string> listMachineCode(const MachineCodeTools &tools,
                                            const std::string &chip,
                                            const std::string &ptx);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_PTXAS_H
