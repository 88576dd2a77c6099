//===- fuzz-kernels.cpp - Execution of mutated kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input is PTX text. The mutator imitates human errors: it copies, drops
// and swaps lines, and replaces words by other words of the text. Every kernel
// that parses is run under an instruction limit. Findings are expected, but the
// process must not crash.
//===----------------------------------------------------------------------===//

#include "mxsim/Simulator.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace mx::sim;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> errors;
  auto module = Module::parse({reinterpret_cast<const char *>(data), size},
                              "fuzz.ptx", errors);
  if (!module)
    return 0;
  DeviceMemory memory(16u << 20);
  uint64_t buffer = memory.alloc(1u << 16, 256, "buffer");
  std::vector<uint8_t> noise(1u << 16);
  std::mt19937 rng(1);
  for (uint8_t &b : noise)
    b = uint8_t(rng());
  memory.copyIn(buffer, noise.data(), noise.size());
  unsigned launches = 0;
  for (const KernelInfo &kernel : module->kernels()) {
    if (++launches > 4)
      break;
    LaunchConfig config;
    config.kernel = kernel.name;
    for (unsigned k = 0; k < 3; ++k) {
      uint32_t *block[] = {&config.block.x, &config.block.y, &config.block.z};
      uint32_t *cluster[] = {&config.cluster.x, &config.cluster.y,
                             &config.cluster.z};
      uint32_t *grid[] = {&config.grid.x, &config.grid.y, &config.grid.z};
      *block[k] = kernel.requiredBlock[0] ? kernel.requiredBlock[k]
                  : k                     ? 1
                                          : 64;
      *cluster[k] = kernel.requiredCluster[k];
      *grid[k] = std::max(1u, kernel.requiredCluster[k]);
    }
    config.dynamicSharedBytes = 65536;
    config.maxInstructions = 20000;
    // 8-byte parameters point to the buffer; others are small numbers.
    config.parameters.assign(kernel.parameterBytes, 0);
    for (const ParameterInfo &p : kernel.parameters) {
      if (p.offset + p.bytes > config.parameters.size())
        continue;
      if (p.bytes == 8)
        std::memcpy(&config.parameters[p.offset], &buffer, 8);
      else if (p.bytes)
        config.parameters[p.offset] = 3;
    }
    config.seed = size & 1 ? size : 0;
    (void)launch(*module, memory, config).text();
  }
  return 0;
}

/// Moves lines and words of the text, and sometimes changes bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::minstd_rand rng(seed);
  if (rng() % 16 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<char *>(data), size);
  for (unsigned times = 1 + rng() % 3; times--;) {
    std::vector<std::pair<size_t, size_t>> words, lines;
    size_t lineStart = 0;
    for (size_t k = 0; k < text.size();) {
      if (text[k] == '\n') {
        lines.push_back({lineStart, ++k});
        lineStart = k;
        continue;
      }
      auto isWord = [](char c) {
        return std::isalnum((unsigned char)c) || std::strchr("_$%.:", c);
      };
      size_t end = k;
      while (end < text.size() && text[end] && isWord(text[end]))
        ++end;
      if (end > k)
        words.push_back({k, end});
      k = std::max(end, k + 1);
    }
    if (words.empty() || lines.empty())
      return LLVMFuzzerMutate(data, size, most);
    auto piece = [&](auto p) {
      return text.substr(p.first, p.second - p.first);
    };
    auto a = lines[rng() % lines.size()], b = lines[rng() % lines.size()];
    auto v = words[rng() % words.size()], w = words[rng() % words.size()];
    switch (rng() % 8) {
    case 0: // copy a line
      text.insert(b.first, piece(a));
      break;
    case 1: // drop a line
      text.erase(a.first, a.second - a.first);
      break;
    case 2: { // move a line
      std::string line = piece(a);
      text.erase(a.first, a.second - a.first);
      text.insert(std::min(b.first, text.size()), line);
      break;
    }
    case 3: { // replace a number
      static const char *numbers[] = {"0",          "1",  "31", "255", "65535",
                                      "2147483648", "-1", "64", "4096"};
      text.replace(v.first, v.second - v.first,
                   numbers[rng() % std::size(numbers)]);
      break;
    }
    default: // replace a word
      text.replace(v.first, v.second - v.first, piece(w));
      break;
    }
  }
  size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}
