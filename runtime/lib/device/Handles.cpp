//===- Handles.cpp - Handles of modules and functions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions live as long as their module. Repeated lookups of a function return
// the same handle.
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "Selection.h"

#include "mx/Support/HandleTable.h"

#include "mxsim/Image.h"

#include <map>
#include <mutex>

using namespace mx::runtime;

namespace {

struct LoadedModule {
  Device *device;
  std::unique_ptr<Module> module;
  /// Image for loading on further devices, and the modules loaded there. Used
  /// only for modules of host code.
  Image image;
  int optLevel;
  std::map<Device *, std::unique_ptr<Module>> others;

  std::mutex mutex;
  bool isUnloaded = false;
  std::map<std::string, mxFunction, std::less<>> functions;
};

/// Function and module. Member order destroys the function first.
struct FunctionOfModule {
  std::shared_ptr<LoadedModule> module;
  std::unique_ptr<Function> function;
  std::map<Device *, std::unique_ptr<Function>> others;
};

using Modules = mx::HandleTable<mxModule, LoadedModule>;
using Functions = mx::HandleTable<mxFunction, FunctionOfModule>;

/// Returns the table of modules. Never destroyed, because global destructors of
/// generated code unload modules.
Modules &modules() {
  static Modules *modules = new Modules(mx::HandleKind::Module);
  return *modules;
}
Functions &functions() {
  static Functions *functions = new Functions(mx::HandleKind::Function);
  return *functions;
}

Error noModule(mxModule handle) {
  return invalidValue(handle
                          ? "expected a loaded module, found an invalid handle"
                          : "expected a loaded module, found a null pointer");
}

} // namespace

Error mx::runtime::loadModule(const void *data, size_t bytes, const char *name,
                              int optLevel, bool isOfHostCode,
                              mxModule &result) {
  if (!data)
    return invalidValue("expected the image of a module, found a null pointer");
  Image image;
  if (std::string why = sim::readImage(data, bytes, name, image); !why.empty())
    return {MX_ERROR_BAD_MODULE, why};
  auto loaded = std::make_shared<LoadedModule>();
  if (Error error = getDevice(loaded->device, image.target))
    return error;
  if (isOfHostCode)
    loaded->image = image;
  loaded->optLevel = optLevel;
  if (Error error = loaded->device->load(image, optLevel, loaded->module))
    return error;
  result = modules().add(std::move(loaded));
  return {};
}

Error mx::runtime::unloadModule(mxModule handle) {
  std::shared_ptr<LoadedModule> module = modules().remove(handle);
  if (!module)
    return noModule(handle);
  std::lock_guard<std::mutex> lock(module->mutex);
  for (const auto &entry : module->functions)
    functions().remove(entry.second);
  module->functions.clear();
  module->isUnloaded = true;
  return {};
}

Error mx::runtime::getFunction(mxModule handle, const char *name,
                               mxFunction &result) {
  if (!name)
    return invalidValue("expected the name of a kernel, found a null pointer");
  std::shared_ptr<LoadedModule> module = modules().find(handle);
  if (!module)
    return noModule(handle);
  std::lock_guard<std::mutex> lock(module->mutex);
  if (module->isUnloaded) // by another thread after the lookup
    return noModule(handle);
  // Null for a new name, or if an earlier lookup ran out of memory.
  mxFunction &known = module->functions[name];
  if (!known) {
    auto function = std::make_shared<FunctionOfModule>();
    function->module = module;
    if (Error error = module->module->getFunction(name, function->function))
      return error;
    known = functions().add(std::move(function));
  }
  result = known;
  return {};
}

Error mx::runtime::describeModule(mxModule handle, const char *kernel,
                                  std::string &json) {
  std::shared_ptr<LoadedModule> module = modules().find(handle);
  return module ? module->module->describe(kernel, json) : noModule(handle);
}

/// Returns the function on a device other than the module's device. Loads the
/// module there once.
static Error findOther(FunctionOfModule &function, Device &device,
                       Function *&result) {
  LoadedModule &module = *function.module;
  std::lock_guard<std::mutex> lock(module.mutex);
  std::unique_ptr<Module> &loaded = module.others[&device];
  Image image = loaded ? Image() : module.image;
  if (!loaded)
    if (Error error = device.load(image, module.optLevel, loaded))
      return error;
  std::unique_ptr<Function> &known = function.others[&device];
  if (!known)
    if (Error error =
            loaded->getFunction(function.function->name.c_str(), known))
      return error;
  result = known.get();
  return {};
}

Error mx::runtime::resolveFunction(mxFunction handle, Device *wanted,
                                   LoadedFunction &loaded) {
  std::shared_ptr<FunctionOfModule> function = functions().find(handle);
  if (!function)
    return invalidValue(
        handle ? "expected a kernel of a loaded module, found an invalid "
                 "handle"
               : "expected a kernel of a loaded module, found a null pointer");
  loaded.device = function->module->device;
  Function *object = function->function.get();
  if (wanted && wanted != loaded.device &&
      !function->module->image.bytes.empty()) {
    if (Error error = findOther(*function, *wanted, object))
      return error;
    loaded.device = wanted;
  }
  loaded.function = {std::move(function), object};
  return {};
}
