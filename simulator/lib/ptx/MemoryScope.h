//===- MemoryScope.h - Memory scopes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_MEMORYSCOPE_H
#define MXSIM_LIB_PTX_MEMORYSCOPE_H

#include <cstdint>

namespace mx::sim {

/// Scopes of the PTX ISA memory model, narrowest first.
enum class MemoryScope : uint8_t { Cta, Cluster, Device, System };
constexpr unsigned kMemoryScopes = 4;
constexpr const char *kScopeNames[kMemoryScopes] = {"cta", "cluster", "gpu",
                                                    "sys"};

} // namespace mx::sim

#endif // MXSIM_LIB_PTX_MEMORYSCOPE_H
