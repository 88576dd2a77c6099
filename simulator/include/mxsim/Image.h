//===- Image.h - Images of modules and their targets ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX is text. Fatbins may contain PTX in addition to machine code, and cubins
// with line information embed their PTX source. Input is untrusted.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IMAGE_H
#define MXSIM_IMAGE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace mx::sim {

/// Image of a module. The first bytes determine the kind.
struct Image {
  enum Kind { Ptx, Cubin, Fatbin } kind = Ptx;
  /// Contents. PTX is followed by a NUL.
  std::string bytes;
  std::string name;
  /// `.target` of PTX; empty for binaries.
  std::string target;
  /// True for PTX from `.nv_debug_ptx_txt`, which lacks files and lines.
  bool lacksLines = false;
};

/// Compute capability of a chip; 0.0 stands for any chip.
struct ComputeCapability {
  int major = 0, minor = 0;
};

/// Copies and classifies an image. If `bytes` is 0, text extends to a NUL, and
/// the headers of cubins and fatbins determine the size. Returns an error
/// message or an empty string.
std::string readImage(const void *data, size_t bytes, const char *name,
                      Image &image);

/// Replaces a fatbin or ELF file with its PTX for the newest architecture that
/// runs on `chip`. Returns an error message or an empty string.
std::string unpackPtx(Image &image, ComputeCapability chip = {});

/// Returns the .target of PTX text, or "".
std::string targetOf(const std::string &ptx);
/// Returns true if `chip` runs PTX for `target`: sm_90 runs on 9.0 and later,
/// sm_100f on family 10 from 10.0 on, sm_100a on 10.0 only (PTX ISA, .target).
bool targetRunsOn(std::string_view target, ComputeCapability chip);
/// Returns true if the text is a well-formed target.
bool isTarget(std::string_view target);

} // namespace mx::sim

#endif // MXSIM_IMAGE_H
