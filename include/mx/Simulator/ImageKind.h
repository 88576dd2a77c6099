//===- ImageKind.h - Kernels that are not PTX text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SIMULATOR_IMAGEKIND_H
#define MX_SIMULATOR_IMAGEKIND_H

#include <string_view>

namespace mx::sim {

/// What compiled image a file holds by its first bytes; null for other files.
inline const char *describeImage(std::string_view bytes) {
  constexpr struct {
    std::string_view begin;
    const char *kind;
  } kImages[] = {{"\x7f"
                  "ELF",
                  "a cubin or another ELF file"},
                 {"\x50\xed\x55\xba", "a fatbin"}};
  for (const auto &image : kImages)
    if (bytes.substr(0, image.begin.size()) == image.begin)
      return image.kind;
  return nullptr;
}

} // namespace mx::sim

#endif // MX_SIMULATOR_IMAGEKIND_H
