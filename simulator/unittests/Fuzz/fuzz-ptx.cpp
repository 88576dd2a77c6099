//===- fuzz-ptx.cpp - Arbitrary bytes as PTX ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the input, decodes every kernel and loads the variables. Invalid PTX
// must be rejected with a message that contains a source location.
//===----------------------------------------------------------------------===//

#include "mxsim/Simulator.h"

#include <cstdlib>

using namespace mx::sim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> errors;
  auto module = Module::parse({reinterpret_cast<const char *>(data), size},
                              "fuzz.ptx", errors);
  if (!module) {
    if (errors.empty() || errors[0].message.empty())
      std::abort();
    return 0;
  }
  DeviceMemory memory(16u << 20);
  (void)module->load(memory);
  return 0;
}
