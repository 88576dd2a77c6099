//===- RuntimeInterface.cpp - C interface of devices ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks pointers, finds the device, forwards the call and records errors.
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "../device/CheckedLaunch.h"
#include "Calls.h"

#include "mx/Support/Version.h"

using namespace mx::runtime;

namespace {

/// Copies on the stream's device. If the stream is null, copies on the device
/// that owns the memory `of`.
int copyBytes(Copy kind, void *to, const void *from, size_t bytes, void *stream,
              const void *of, const char *function = __builtin_FUNCTION()) {
  if (bytes == 0)
    return MX_SUCCESS;
  if (!to || !from)
    return reportNull(!to ? "a destination" : "a source", function);
  auto copy = [&](Device &device) {
    return device.copy(kind, to, from, bytes, stream);
  };
  return stream ? attempt(onOwnerOfStream(stream, copy), function)
                : attempt(onOwner(of, copy), function);
}

} // namespace

const char *mxGetVersion() { return mx::getVersion(); }

int mxGetInterfaceVersion() { return MX_INTERFACE_VERSION; }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int mxSetDevice(const char *name) {
  if (!name)
    return reportNull("a device name");
  // A named device must exist now; "auto" may be resolved by a later module.
  return attempt(
      [&] { return setDevice(name, {}, std::string_view(name) != "auto"); });
}

int mxSetDeviceForTarget(const char *name, const char *target) {
  return attempt(
      [&] { return setDevice(name ? name : "", target ? target : "", true); });
}

int mxSetThreadDevice(const char *name) {
  return attempt([&] { return setThreadDevice(name ? name : ""); });
}

int mxGetDeviceInfo(mxDeviceInfo *info) {
  if (!info)
    return reportNull("an address for the answer");
  return attempt(onDeviceInUse([&](Device &device) {
    return give(info, "mxDeviceInfo", device.info());
  }));
}

int mxGetMemoryDevice(const void *memory, mxDeviceInfo *info) {
  if (!memory || !info)
    return reportNull(memory ? "an address for the answer" : "memory");
  return attempt([&]() -> Error {
    if (Device *device = askOwner(memory))
      return give(info, "mxDeviceInfo", device->info());
    return {MX_ERROR_NOT_FOUND,
            "expected memory of a device in use, found memory of the host or "
            "of a device that was not used yet (mxSetDevice)"};
  });
}

int mxGetDeviceNumber(int32_t *number) {
  if (!number)
    return reportNull("an address for the answer");
  return attempt(onDeviceInUse([&](Device &device) {
    *number = device.kind == Device::Kind::Cuda ? device.ordinal : -1;
    return Error();
  }));
}

int32_t mxMultiprocessorCount() {
  int32_t count = 0;
  attempt(onDeviceInUse([&](Device &device) {
    count = int32_t(device.limits().multiprocessors);
    return Error();
  }));
  return count;
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

int mxGetSimulatorCounters(mxSimulatorCounters *counters) {
  if (!counters)
    return reportNull("an address for the answer");
  return attempt(
      [&] { return give(counters, "mxSimulatorCounters", getSimCounters()); });
}

//===----------------------------------------------------------------------===//
// Streams and memory
//===----------------------------------------------------------------------===//

int mxStreamCreate(mxStream *stream) {
  if (!stream)
    return reportNull("an address for the stream");
  *stream = nullptr;
  return attempt(onDeviceInUse(
      [&](Device &device) { return device.createStream(*stream); }));
}

int mxStreamDestroy(mxStream stream) {
  if (!stream)
    return reportNull("a stream");
  return attempt(onOwnerOfStream(
      stream, [&](Device &device) { return device.destroyStream(stream); }));
}

int mxStreamSynchronize(mxStream stream) {
  return attempt(onOwnerOfStream(stream, [&](Device &device) {
    return device.synchronizeStream(stream);
  }));
}

int mxStreamWait(mxStream stream, mxStream other) {
  if (stream == other)
    return MX_SUCCESS;
  // A default stream belongs to the device of the other stream.
  return attempt(onOwnerOfStream(other ? other : stream, [&](Device &device) {
    Device *waiting = &device;
    if (stream && other)
      if (Error error = findStreamOwner(stream, waiting))
        return error;
    if (waiting->kind != device.kind)
      return invalidValue("expected two GPU streams or two simulator "
                          "streams, found a stream of " +
                          waiting->name() + " and a stream of " +
                          device.name());
    void *event = nullptr;
    if (Error error = device.createEvent(event))
      return error;
    Error error = device.recordEvent(event, other);
    if (!error)
      error = waiting->waitEvent(stream, event);
    // The driver keeps the event until the last use.
    Error destroyed = device.destroyEvent(event);
    return error ? error : destroyed;
  }));
}

int mxSynchronize() {
  return attempt(
      onDeviceInUse([](Device &device) { return device.synchronize(); }));
}

int mxEventCreate(mxEvent *event) {
  if (!event)
    return reportNull("an address for the event");
  *event = nullptr;
  return attempt(onDeviceInUse(
      [&](Device &device) { return device.createTimedEvent(*event); }));
}

int mxEventDestroy(mxEvent event) {
  if (!event)
    return reportNull("an event");
  return attempt(onOwnerOfEvent(
      event, [&](Device &device) { return device.destroyEvent(event); }));
}

int mxEventRecord(mxEvent event, mxStream stream) {
  if (!event)
    return reportNull("an event");
  return attempt(onOwnerOfEvent(event, [&](Device &device) {
    Error error = checkStream(device, stream);
    return error ? error : device.recordEvent(event, stream);
  }));
}

int mxEventElapsed(mxEvent begin, mxEvent end, double *microseconds) {
  if (!begin || !end || !microseconds)
    return reportNull("two events and an address for the time");
  *microseconds = 0;
  return attempt(onOwnerOfEvent(end, [&](Device &device) {
    return device.elapsed(begin, end, *microseconds);
  }));
}

int mxMemAlloc(void **memory, size_t bytes) {
  if (!memory)
    return reportNull("an address for the result");
  *memory = nullptr;
  return attempt(onDeviceInUse(
      [&](Device &device) { return device.alloc(bytes, false, *memory); }));
}

int mxMemFree(void *memory) {
  if (!memory)
    return MX_SUCCESS;
  return attempt(
      onOwner(memory, [&](Device &device) { return device.free(memory); }));
}

int mxMemcpyToDevice(void *to, const void *from, size_t bytes,
                     mxStream stream) {
  return copyBytes(Copy::ToDevice, to, from, bytes, stream, to);
}

int mxMemcpyToHost(void *to, const void *from, size_t bytes, mxStream stream) {
  return copyBytes(Copy::ToHost, to, from, bytes, stream, from);
}

int mxMemcpyOnDevice(void *to, const void *from, size_t bytes,
                     mxStream stream) {
  return copyBytes(Copy::OnDevice, to, from, bytes, stream, to);
}

int mxMemset(void *memory, uint8_t byte, size_t bytes, mxStream stream) {
  if (bytes == 0)
    return MX_SUCCESS;
  if (!memory)
    return reportNull("memory");
  auto fill = [&](Device &device) {
    return device.fill(memory, byte, 1, bytes, stream);
  };
  return stream ? attempt(onOwnerOfStream(stream, fill))
                : attempt(onOwner(memory, fill));
}

//===----------------------------------------------------------------------===//
// Modules, launches, tensor maps
//===----------------------------------------------------------------------===//

int mxModuleLoad(mxModule *module, const void *image, size_t bytes,
                 const char *name) {
  if (!module)
    return reportNull("an address for the module");
  *module = nullptr;
  return attempt([&] {
    return loadModule(image, bytes, name, /*optLevel=*/-1,
                      /*isOfHostCode=*/false, *module);
  });
}

// Null is accepted, as in free().
int mxModuleUnload(mxModule module) {
  return module ? attempt([&] { return unloadModule(module); })
                : int(MX_SUCCESS);
}

int mxModuleGetFunction(mxFunction *function, mxModule module,
                        const char *name) {
  if (!function)
    return reportNull("an address for the function");
  *function = nullptr;
  return attempt([&] { return getFunction(module, name, *function); });
}

int mxLaunch(mxFunction function, const mxLaunchConfig *config,
             void **parameters, int64_t count) {
  if (!config)
    return reportNull("a configuration");
  return attempt([&] {
    mxLaunchConfig read;
    std::string wrong = mx::readStruct(
        config, MX_SIZE_WITH(mxLaunchConfig, block), "mxLaunchConfig", read);
    return wrong.empty() ? launch(function, read, parameters, count)
                         : invalidValue(wrong);
  });
}

int mxModuleDescribe(mxModule module, const char *kernel, mxTextHandler handler,
                     void *data) {
  if (!handler)
    return reportNull("a handler");
  return attempt([&] {
    std::string json;
    Error error = describeModule(module, kernel, json);
    if (!error)
      handler(json.c_str(), data);
    return error;
  });
}

int mxLaunchReported(mxFunction function, const mxLaunchConfig *config,
                     void **parameters, int64_t count,
                     const mxReportedLaunch *reported) {
  if (!config || !reported)
    return reportNull(!config ? "a configuration" : "settings of the launch");
  return attempt([&] {
    mxLaunchConfig read;
    mxReportedLaunch settings;
    std::string wrong = mx::readStruct(
        config, MX_SIZE_WITH(mxLaunchConfig, block), "mxLaunchConfig", read);
    if (wrong.empty())
      wrong = mx::readStruct(reported, MX_SIZE_WITH(mxReportedLaunch, data),
                             "mxReportedLaunch", settings);
    if (!wrong.empty())
      return invalidValue(wrong);
    Reporting reporting = {settings, {}};
    Error error = launch(function, read, parameters, count, reporting);
    if (!reporting.report.empty())
      settings.report(reporting.report.c_str(), settings.data);
    return error;
  });
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
