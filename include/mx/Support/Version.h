//===- Version.h - Which mx this is -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_VERSION_H
#define MX_SUPPORT_VERSION_H

namespace mx {

/// "0.1.0+52934cd0f1ab": the project's version and the commit it was built
/// from, with ".changed" where files of the commit were changed. The commit is
/// left out where the sources lie in no repository and do not name it.
const char *getVersion();

} // namespace mx

#endif // MX_SUPPORT_VERSION_H
