//===- EmbeddedPtx.h - PTX inside fatbins and ELF files ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator runs PTX. Fatbins may contain PTX in addition to machine code,
// and cubins with line information embed their PTX source.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H
#define MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H

#include "../Device.h"

namespace mx::runtime {

/// Replaces a fatbin or ELF file with its PTX for the newest architecture.
Error unpackPtx(Image &image);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_IMAGE_EMBEDDEDPTX_H
