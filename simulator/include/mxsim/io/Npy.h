//===- Npy.h - Reading and writing NumPy .npy files -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All tools read and write arrays as .npy files. Input is untrusted: the reader
// rejects any header that does not match the data exactly, with a message that
// names the file.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_NPY_H
#define MXSIM_IO_NPY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mx {

/// Dense little-endian array in C order. `dtype` is the NumPy kind letter and
/// item size without the byte order: b1 i1..i8 u1..u8 f2 f4 f8 c8 c16.
struct NpyArray {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;
};

/// Returns the bytes per item of `dtype`, or 0 if unsupported.
size_t npyItemSize(const std::string &dtype);

/// Converts nonzero bytes to 1. Arrays from NumPy, C and PyTorch may contain
/// other true values.
void normalizeBools(void *bytes, size_t count);

/// Returns "2x3xf4", for messages; a 0-d array prints only its dtype.
std::string npyTypeString(const NpyArray &array);

/// Reads format versions 1.0, 2.0 and 3.0. Extension types of ml_dtypes, which
/// NumPy stores without their name (V1, V2, f1), are read as raw bits in u1 and
/// u2. Bytes of b1 are normalized to 0 and 1. Returns an error message or an
/// empty string.
std::string readNpy(const std::string &path, NpyArray &array);

/// Writes a file through writeOutputFile(). Returns an error message or an
/// empty string.
std::string writeNpy(const std::string &path, const NpyArray &array);

} // namespace mx

#endif // MXSIM_IO_NPY_H
