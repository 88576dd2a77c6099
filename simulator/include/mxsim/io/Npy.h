//===- Npy.h - Read and write NumPy .npy files ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays enter and leave every tool as .npy files. Files come from users, so
// the reader trusts nothing: whatever does not describe exactly the bytes that
// follow is refused with one message that names the file.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_NPY_H
#define MXSIM_IO_NPY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mx {

/// A dense little-endian array in C order. `dtype` is NumPy's kind letter and
/// item size without the byte order: b1 i1..i8 u1..u8 f2 f4 f8 c8 c16.
struct NpyArray {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;
};

/// Bytes per item of a dtype as above; 0 if it is not one of them.
size_t npyItemSize(const std::string &dtype);

/// Makes bytes of b1 0 and 1. Any byte but 0 is true: NumPy, C and PyTorch
/// leave what they find in one.
void normalizeBools(void *bytes, size_t count);

/// "2x3xf4", for messages; a 0-d array prints its dtype only.
std::string npyTypeString(const NpyArray &array);

/// Reads format versions 1.0, 2.0 and 3.0. The extension types of ml_dtypes,
/// which NumPy stores without their name (V1, V2, f1), come as the bits they
/// are: u1 and u2. Bytes of b1 are 0 and 1 (normalizeBools). Returns an empty
/// string, or the message.
std::string readNpy(const std::string &path, NpyArray &array);

/// Writes a file by writeOutputFile(). Returns an empty string, or the message.
std::string writeNpy(const std::string &path, const NpyArray &array);

} // namespace mx

#endif // MXSIM_IO_NPY_H
