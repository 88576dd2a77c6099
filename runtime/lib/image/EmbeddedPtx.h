//===- EmbeddedPtx.h - PTX inside fatbins and ELF files ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator runs PTX. Fatbins may hold it beside machine code, and cubins
// with line information carry the text they were assembled from.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H
#define MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H

#include "../Device.h"

namespace mx::runtime {

/// Replaces a fatbin or an ELF file by the PTX in it, that for the newest
/// architecture if there are several.
Error unpackPtx(Image &image);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H
