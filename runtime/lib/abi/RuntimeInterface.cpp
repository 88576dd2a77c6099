//===- RuntimeInterface.cpp - The C interface of devices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks pointers, finds the device, forwards, records the error: nothing is
// decided here.
//===----------------------------------------------------------------------===//

#include "../device/CheckedLaunch.h"
#include "../device/Handles.h"
#include "../device/Selection.h"
#include "Error.h"

#include "mx/Support/Version.h"

using namespace mx::runtime;

namespace {

/// Calls a method of the device in use and reports.
template <typename Call>
int onDevice(Call call, const char *function = __builtin_FUNCTION()) {
  return attempt(
      [&]() -> Error {
        Device *device;
        Error error = getDevice(device);
        return error ? error : call(*device);
      },
      function);
}

int copyBytes(Copy kind, void *to, const void *from, size_t bytes, void *stream,
              const char *function = __builtin_FUNCTION()) {
  if (bytes == 0)
    return MX_SUCCESS;
  if (!to || !from)
    return reportNull(!to ? "a destination" : "a source", function);
  return onDevice(
      [&](Device &device) {
        return device.copy(kind, to, from, bytes, stream);
      },
      function);
}

} // namespace

const char *mxGetVersion() { return mx::getVersion(); }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int mxSetDevice(const char *name) {
  if (!name)
    return reportNull("a device name");
  // A device that was named must be there; auto may wait for a module.
  return attempt(
      [&] { return setDevice(name, {}, std::string_view(name) != "auto"); });
}

int mxSetDeviceForTarget(const char *name, const char *target) {
  return attempt(
      [&] { return setDevice(name ? name : "", target ? target : "", true); });
}

int mxGetDeviceInfo(mxDeviceInfo *info) {
  if (!info)
    return reportNull("a place for the answer");
  return onDevice([&](Device &device) {
    *info = device.info();
    return Error();
  });
}

int mxGetDeviceNumber(int32_t *number) {
  if (!number)
    return reportNull("a place for the answer");
  return onDevice([&](Device &device) {
    *number = device.number();
    return Error();
  });
}

int32_t mxMultiprocessorCount() {
  mxDeviceInfo info = {};
  return mxGetDeviceInfo(&info) ? 0 : info.multiprocessors;
}

int mxCanRunTarget(const char *target) {
  bool can = false;
  attempt([&]() -> Error {
    Device *device;
    can = target && !getDevice(device, target) && device->canRun(target);
    return {};
  });
  return can;
}

int mxSetSimulatorOption(const char *option, const char *value) {
  if (!option || !value)
    return reportNull("an option and a value");
  return attempt([&] { return setSimOption(option, value); });
}

void mxGetSimulatorCounters(mxSimulatorCounters *counters) {
  if (counters)
    attempt([&]() -> Error {
      *counters = getSimCounters();
      return {};
    });
}

//===----------------------------------------------------------------------===//
// Streams and memory
//===----------------------------------------------------------------------===//

int mxStreamCreate(mxStream *stream) {
  if (!stream)
    return reportNull("a place for the stream");
  *stream = nullptr;
  return onDevice([&](Device &device) { return device.createStream(*stream); });
}

int mxStreamDestroy(mxStream stream) {
  if (!stream)
    return reportNull("a stream");
  return onDevice([&](Device &device) { return device.destroyStream(stream); });
}

int mxStreamSynchronize(mxStream stream) {
  return onDevice(
      [&](Device &device) { return device.synchronizeStream(stream); });
}

int mxStreamWait(mxStream stream, mxStream other) {
  if (stream == other)
    return MX_SUCCESS;
  return onDevice([&](Device &device) {
    void *event = nullptr;
    if (Error error = device.createEvent(event))
      return error;
    Error error = device.recordEvent(event, other);
    if (!error)
      error = device.waitEvent(stream, event);
    // The driver keeps it until it is not needed any more.
    Error destroyed = device.destroyEvent(event);
    return error ? error : destroyed;
  });
}

int mxSynchronize() {
  return onDevice([](Device &device) { return device.synchronize(); });
}

int mxMemAlloc(void **memory, size_t bytes) {
  if (!memory)
    return reportNull("a place for the address");
  *memory = nullptr;
  return onDevice(
      [&](Device &device) { return device.alloc(bytes, false, *memory); });
}

int mxMemFree(void *memory) {
  if (!memory)
    return MX_SUCCESS;
  return onDevice([&](Device &device) { return device.free(memory); });
}

int mxMemcpyToDevice(void *to, const void *from, size_t bytes,
                     mxStream stream) {
  return copyBytes(Copy::ToDevice, to, from, bytes, stream);
}

int mxMemcpyToHost(void *to, const void *from, size_t bytes, mxStream stream) {
  return copyBytes(Copy::ToHost, to, from, bytes, stream);
}

int mxMemcpyOnDevice(void *to, const void *from, size_t bytes,
                     mxStream stream) {
  return copyBytes(Copy::OnDevice, to, from, bytes, stream);
}

int mxMemset(void *memory, uint8_t byte, size_t bytes, mxStream stream) {
  if (bytes == 0)
    return MX_SUCCESS;
  if (!memory)
    return reportNull("memory");
  return onDevice([&](Device &device) {
    return device.fill(memory, byte, 1, bytes, stream);
  });
}

//===----------------------------------------------------------------------===//
// Modules, launches, tensor maps
//===----------------------------------------------------------------------===//

int mxModuleLoad(mxModule *module, const void *image, size_t bytes,
                 const char *name) {
  if (!module)
    return reportNull("a place for the module");
  *module = nullptr;
  return attempt(
      [&] { return loadModule(image, bytes, name, /*optLevel=*/-1, *module); });
}

int mxModuleUnload(mxModule module) {
  return module ? attempt([&] { return unloadModule(module); })
                : int(MX_SUCCESS);
}

int mxModuleGetFunction(mxFunction *function, mxModule module,
                        const char *name) {
  if (!function)
    return reportNull("a place for the function");
  *function = nullptr;
  return attempt([&] { return getFunction(module, name, *function); });
}

int mxLaunch(mxFunction function, const mxLaunchConfig *config,
             void **parameters, int64_t count) {
  if (!config)
    return reportNull("a configuration");
  return attempt([&] { return launch(function, *config, parameters, count); });
}

int mxTensorMapEncodeTiled(void *map, int32_t dataType, int32_t rank,
                           void *globalAddress, const int64_t *dims,
                           const int64_t *strides, const int32_t *box,
                           const int32_t *elementStrides, int32_t interleave,
                           int32_t swizzle, int32_t l2Promotion,
                           int32_t oobFill) {
  return attempt([&] {
    return encodeTensorMap(map, {dataType, rank, globalAddress, dims, strides,
                                 box, elementStrides, interleave, swizzle,
                                 l2Promotion, oobFill});
  });
}
