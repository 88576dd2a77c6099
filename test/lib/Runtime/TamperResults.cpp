//===- TamperResults.cpp - Wrong elements in results of a device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes bytes copied from the device, as if a kernel were wrong. The
// library is loaded before libmx_runtime (LD_PRELOAD). MX_TEST_TAMPER is
// "SIZE:OFFSET:HEX": in each copy of SIZE bytes, the bytes HEX replace the
// bytes at OFFSET.
//===----------------------------------------------------------------------===//

#include "mx_runtime.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

extern "C" int mxMemcpyToHost(void *host, const void *device, size_t bytes,
                              mxStream stream) {
  auto *copy = reinterpret_cast<decltype(&mxMemcpyToHost)>(
      dlsym(RTLD_NEXT, "mxMemcpyToHost"));
  int status = copy(host, device, bytes, stream);
  const char *what = getenv("MX_TEST_TAMPER");
  size_t size = 0, offset = 0;
  char hex[33] = "";
  if (!what || sscanf(what, "%zu:%zu:%32[0-9a-f]", &size, &offset, hex) != 3 ||
      size != bytes)
    return status;
  for (size_t i = 0; hex[2 * i] && offset + i < bytes; ++i) {
    unsigned byte;
    sscanf(hex + 2 * i, "%2x", &byte);
    static_cast<unsigned char *>(host)[offset + i] = byte;
  }
  return status;
}
