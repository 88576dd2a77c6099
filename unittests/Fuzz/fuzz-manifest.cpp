//===- fuzz-manifest.cpp - Fuzzer of the manifest reader ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader must refuse an invalid manifest and name the line and column. A
// valid manifest can be written, read again and evaluated.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"

#include <cstdlib>

using namespace mx::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Manifest manifest, again;
  std::string error =
      readManifest({reinterpret_cast<const char *>(data), size}, manifest);
  if (!error.empty()) {
    if (error[0] < '1' || error[0] > '9')
      std::abort();
    return 0;
  }
  if (!readManifest(writeManifest(manifest), again).empty())
    std::abort();
  for (const Entry &entry : manifest.entries) {
    Inputs inputs;
    inputs.hasAddresses = size % 2;
    inputs.smCount = 148;
    for (const Argument &argument : entry.arguments) {
      std::vector<int64_t> &shape = inputs.shapes.emplace_back();
      for (int64_t extent : argument.shape)
        shape.push_back(extent == kDynamic ? int64_t(size) : extent);
      inputs.integers.push_back(int64_t(size));
      inputs.argumentAddresses.push_back(4096);
    }
    inputs.resultAddresses.assign(entry.results.size(), 4096);
    inputs.constants = &manifest.constants;
    inputs.constantAddresses.assign(manifest.constants.size(), 4096);
    inputs.groups = &manifest.groups;
    inputs.ranks.assign(manifest.groups.size(), 0);
    inputs.peers.assign(manifest.groups.size(), 0);
    inputs.windowAddresses.assign(entry.windows.size(), 8192);
    Numbers numbers;
    (void)evaluate(entry, inputs, numbers);
  }
  return 0;
}
