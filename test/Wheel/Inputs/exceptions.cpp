//===- exceptions.cpp - Exceptions of a host of libmx ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host links the shared C++ library, and libmx contains a hidden copy.
//===----------------------------------------------------------------------===//

#include "mx-c/Compiler.h"
#include "mx_group.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {
struct Own : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Prints the exception that `call` passes to the host.
template <typename Call>
void crosses(Call call) {
  try {
    call();
    std::puts("nothing was thrown");
  } catch (const Own &thrown) {
    std::printf("thrown: %s\n", thrown.what());
  }
}

int exchange(void *, const void *, size_t, void *) { throw Own("no peer"); }
void tell(int, const char *text, void *) { throw Own(text); }
void print(const char *, size_t, void *) { throw Own("a full disk"); }
} // namespace

int main() {
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxSetDevice("sim");
  mxGroupConfig config = {sizeof(config), "g",     0,     2, 0,
                          exchange,       nullptr, "host"};
  mxGroup group = nullptr;
  // The library catches exceptions of std, and therefore this one.
  int status = mxGroupCreate(&group, &config);
  std::printf("status %d: %s\n", status, mxGetThreadError());

  // The compiler contains no handlers, so exceptions pass its frames.
  mxcContext context = mxcContextCreate(tell, nullptr);
  crosses([&] { mxcModuleParse(context, "func.func", 9, "f"); });
  const char *text = "func.func private @f()";
  mxcModule module = mxcModuleParse(context, text, std::strlen(text), "f");
  crosses([&] { mxcModulePrint(module, print, nullptr); });
  mxcModuleDestroy(module);
  mxcContextDestroy(context);
}
