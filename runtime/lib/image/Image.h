//===- Image.h - Modules as they come, and targets --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells PTX from binaries and a target that fits from one that does not,
// before a driver is asked: its own answer would be a number.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_IMAGE_IMAGE_H
#define MX_RUNTIME_LIB_IMAGE_IMAGE_H

#include "../Device.h"

namespace mx::runtime {

/// Copies the image and finds out what it is. With `bytes` 0 the image itself
/// says where it ends: text by a NUL, a cubin and a fatbin by their headers.
Error readImage(const void *data, size_t bytes, const char *name, Image &image);

/// Whether compute capability major.minor runs PTX for `target`: sm_90 runs on
/// 9.0 and later, sm_100f within family 10 from 10.0 on, sm_100a on 10.0 only
/// (PTX ISA, .target).
bool targetRunsOn(std::string_view target, int major, int minor);
/// Whether the text has the form of a target at all.
bool isTarget(std::string_view target);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_IMAGE_IMAGE_H
