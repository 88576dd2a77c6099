//===- Version.h - Version of mx --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_VERSION_H
#define MX_SUPPORT_VERSION_H

namespace mx {

/// Returns a string like "0.1.0+52934cd0f1ab": the version and the commit of
/// the build, with ".changed" if files differ from the commit. Without a
/// repository the commit is omitted, unless the sources name it.
const char *getVersion();

} // namespace mx

#endif // MX_SUPPORT_VERSION_H
