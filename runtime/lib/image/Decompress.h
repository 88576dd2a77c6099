//===- Decompress.h - LZ4 and Zstandard -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two formats in which nvcc and fatbinary compress images. The input comes
// from anywhere: nothing is read or written outside of what was given.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_IMAGE_DECOMPRESS_H
#define MX_RUNTIME_LIB_IMAGE_DECOMPRESS_H

#include <string>
#include <string_view>

namespace mx::runtime {

/// Each fills `out`, which has the size that the data expands to, and returns
/// "" or what is wrong.
std::string decompressLz4(std::string_view data, std::string &out);
/// Loads libzstd.so.1, as libcuda is loaded, when it is first needed.
std::string decompressZstd(std::string_view data, std::string &out);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_IMAGE_DECOMPRESS_H
