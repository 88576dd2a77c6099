//===- Decompress.h - LZ4 and Zstandard decompression -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvcc and fatbinary compress images in these formats. The input is untrusted,
// so all accesses are bounds checked.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_IMAGE_DECOMPRESS_H
#define MXSIM_LIB_IMAGE_DECOMPRESS_H

#include <string>
#include <string_view>

namespace mx::sim {

/// Decompresses `data` into `out`. The caller sets the size of `out` to the
/// decompressed size. Returns "" or an error message.
std::string decompressLz4(std::string_view data, std::string &out);
/// Decompresses like decompressLz4. Loads libzstd.so.1 on first use.
std::string decompressZstd(std::string_view data, std::string &out);

} // namespace mx::sim

#endif // MXSIM_LIB_IMAGE_DECOMPRESS_H
