//===- DeviceBuffers.cpp - Memory of the device a program uses ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The two kinds of memory, and the choice of the device.
//
//===----------------------------------------------------------------------===//

#include "DeviceBuffers.h"
#include "mx/Launch/RuntimeStatus.h"
#include <cstdlib>
#include <cstring>

using namespace mx;

namespace {

/// Memory from malloc: compiled code frees and allocates with it too.
class HostBuffers final : public DeviceBuffers {
  llvm::Expected<void *> alloc(size_t bytes) override {
    // Whole cache lines, so that vector loads of compiled code are aligned.
    size_t rounded = (bytes + 63) / 64 * 64;
    void *memory =
        rounded < bytes ? nullptr : std::aligned_alloc(64, rounded + 64);
    if (!memory)
      return makeError("cannot allocate " + llvm::Twine(bytes) + " bytes");
    return memory;
  }
  void free(void *memory) override { std::free(memory); }
  llvm::Error copyIn(void *to, const void *from, size_t bytes) override {
    if (bytes)
      std::memcpy(to, from, bytes);
    return llvm::Error::success();
  }
  llvm::Error copyOut(void *to, const void *from, size_t bytes) override {
    return copyIn(to, from, bytes);
  }
  llvm::Error synchronize() override { return llvm::Error::success(); }
};

llvm::Error runtimeError() {
  std::string text = mxGetLastError();
  int status = mxGetLastStatus();
  mxClearError();
  // A simulator's report ends its paragraphs.
  llvm::StringRef message = llvm::StringRef(text).rtrim();
  return makeError(message.empty() ? mxStatusName(status) : message,
                   getExitStatus(status));
}

/// Memory of the runtime's current device.
class RuntimeBuffers final : public DeviceBuffers {
  static llvm::Error check(int status) {
    return status == MX_SUCCESS ? llvm::Error::success() : runtimeError();
  }
  llvm::Expected<void *> alloc(size_t bytes) override {
    void *memory = nullptr;
    if (mxMemAlloc(&memory, bytes) != MX_SUCCESS)
      return runtimeError();
    return memory;
  }
  void free(void *memory) override { (void)mxMemFree(memory); }
  llvm::Error copyIn(void *to, const void *from, size_t bytes) override {
    return bytes ? check(mxMemcpyToDevice(to, from, bytes, nullptr))
                 : llvm::Error::success();
  }
  llvm::Error copyOut(void *to, const void *from, size_t bytes) override {
    return bytes ? check(mxMemcpyToHost(to, from, bytes, nullptr))
                 : llvm::Error::success();
  }
  llvm::Error synchronize() override {
    // A launch cannot report; what went wrong in it is the last error.
    if (mxGetLastStatus() != MX_SUCCESS)
      return runtimeError();
    return check(mxSynchronize());
  }
};

} // namespace

std::unique_ptr<DeviceBuffers> DeviceBuffers::create(DeviceKind device) {
  if (device == DeviceKind::CPU)
    return std::make_unique<HostBuffers>();
  return std::make_unique<RuntimeBuffers>();
}

llvm::StringRef mx::stringifyDeviceKind(DeviceKind device) {
  switch (device) {
  case DeviceKind::CPU:
    return "cpu";
  case DeviceKind::Sim:
    return "sim";
  case DeviceKind::CUDA:
    return "cuda";
  }
  return "";
}

llvm::Expected<DeviceKind> mx::selectDevice(llvm::StringRef name,
                                            const std::string &chip) {
  if (name == "cpu")
    return DeviceKind::CPU;
  if (name != "auto" && name != "sim" && name != "cuda" &&
      !name.starts_with("cuda:"))
    return makeError("expected device auto, sim, cuda, cuda:N or cpu, found '" +
                     name + "'");
  // Errors come back as statuses: a tool must not be aborted by a kernel.
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxDeviceInfo info;
  if (mxSetDeviceForTarget(name.str().c_str(), chip.c_str()) != MX_SUCCESS ||
      mxGetDeviceInfo(&info) != MX_SUCCESS)
    return runtimeError();
  return llvm::StringRef(info.kind) == "sim" ? DeviceKind::Sim
                                             : DeviceKind::CUDA;
}
