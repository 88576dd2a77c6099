//===- Handles.cpp - Modules and functions as callers hold them -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions live as long as their module; asking twice gives the same handle.
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "../image/Image.h"
#include "Selection.h"

#include <map>
#include <mutex>
#include <set>

using namespace mx::runtime;

struct mxFunctionImpl {
  Device *device;
  std::unique_ptr<Function> function;
};

struct mxModuleImpl {
  Device *device;
  std::unique_ptr<Module> module;
  std::map<std::string, std::unique_ptr<mxFunctionImpl>> functions;
};

namespace {
struct Handles {
  std::mutex mutex;
  std::set<mxModule> modules;
  std::set<mxFunction> functions;
};

Handles &handles() {
  static Handles *handles = new Handles;
  return *handles;
}
} // namespace

static Error deadModule() {
  return {MX_ERROR_INVALID_VALUE,
          "expected a loaded module, found a handle that is none"};
}

Error mx::runtime::loadModule(const void *data, size_t bytes, const char *name,
                              int optLevel, mxModule &result) {
  if (!data)
    return {MX_ERROR_INVALID_VALUE,
            "expected the image of a module, found a null pointer"};
  Image image;
  if (Error error = readImage(data, bytes, name, image))
    return error;
  Device *device;
  if (Error error = getDevice(device, image.target))
    return error;
  auto module = std::make_unique<mxModuleImpl>();
  module->device = device;
  if (Error error = device->load(image, optLevel, module->module))
    return error;
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  h.modules.insert(module.get());
  result = module.release();
  return {};
}

Error mx::runtime::unloadModule(mxModule module) {
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  if (!h.modules.erase(module))
    return deadModule();
  for (auto &entry : module->functions)
    h.functions.erase(entry.second.get());
  delete module;
  return {};
}

Error mx::runtime::getFunction(mxModule module, const char *name,
                               mxFunction &result) {
  if (!name)
    return {MX_ERROR_INVALID_VALUE,
            "expected the name of a kernel, found a null pointer"};
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  if (!h.modules.count(module))
    return deadModule();
  std::unique_ptr<mxFunctionImpl> &slot = module->functions[name];
  if (!slot) {
    auto function = std::make_unique<mxFunctionImpl>();
    function->device = module->device;
    if (Error error = module->module->getFunction(name, function->function)) {
      module->functions.erase(name);
      return error;
    }
    h.functions.insert(function.get());
    slot = std::move(function);
  }
  result = slot.get();
  return {};
}

Error mx::runtime::resolveFunction(mxFunction handle, Device *&device,
                                   Function *&function) {
  Handles &h = handles();
  std::lock_guard<std::mutex> lock(h.mutex);
  if (!h.functions.count(handle))
    return {MX_ERROR_INVALID_VALUE,
            "expected a kernel of a loaded module, found a handle that is "
            "none"};
  device = handle->device;
  function = handle->function.get();
  return {};
}
