//===- Version.h - Version of mx --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_VERSION_H
#define MX_SUPPORT_VERSION_H

namespace mx {

/// Returns the version and the commit of the build, such as
/// "0.1.0+52934cd0f1ab". The suffix ".changed" marks a build with files that
/// differ from the commit. A build outside of a repository omits the commit,
/// unless the sources contain it.
const char *getVersion();

} // namespace mx

#endif // MX_SUPPORT_VERSION_H
