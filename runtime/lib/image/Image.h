//===- Image.h - Module images and targets ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies images and checks targets before the driver is called, because the
// driver reports only an error number.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_IMAGE_IMAGE_H
#define MX_RUNTIME_LIB_IMAGE_IMAGE_H

#include "../Device.h"

namespace mx::runtime {

/// Copies and classifies an image. If `bytes` is 0, text extends to a NUL, and
/// the headers of cubins and fatbins determine the size.
Error readImage(const void *data, size_t bytes, const char *name, Image &image);

/// Returns true if compute capability major.minor runs PTX for `target`: sm_90
/// runs on 9.0 and later, sm_100f on family 10 from 10.0 on, sm_100a on 10.0
/// only (PTX ISA, .target).
bool targetRunsOn(std::string_view target, int major, int minor);
/// Returns true if the text is a well-formed target.
bool isTarget(std::string_view target);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_IMAGE_IMAGE_H
