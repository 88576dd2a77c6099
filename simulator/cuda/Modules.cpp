//===- Modules.cpp - Images, functions and variables ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "mxsim/io/InputFile.h"
#include "mxsim/io/OutputFile.h"

#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

static const std::string &programName() {
  static const std::string name(program_invocation_short_name);
  return name;
}

std::string Program::read() {
  if (!newest.bytes.empty())
    return {};
  std::string why = readImage(image, imageBytes, name.c_str(), newest);
  if (why.empty() && newest.kind != Image::Ptx)
    why = unpackPtx(newest);
  if (!why.empty())
    newest = {};
  return why;
}

Module &Program::on(int device) {
  if (auto known = modules.find(device); known != modules.end())
    return *known->second;
  Session &session = Session::get();
  DeviceMemory &memory = session.devices[size_t(device)]->memory;
  std::string why = read();
  // The newest PTX is also the best for the chip if the chip runs it.
  if (why.empty() && !targetRunsOn(newest.target, session.chip->capability)) {
    why = readImage(image, imageBytes, name.c_str(), newest);
    if (why.empty() && newest.kind != Image::Ptx)
      why = unpackPtx(newest, session.chip->capability);
    else if (why.empty())
      why = name + ": expected PTX that runs on " + std::string(session.chip->name) + ", found " + newest.target +
            ": mx-sim run --chip names another chip";
  }
  if (!why.empty())
    fail(CUDA_ERROR_NO_BINARY_FOR_GPU, why);
  std::vector<Diagnostic> errors;
  auto parsed = Module::parse(newest.bytes, name, errors);
  if (!parsed)
    fail(CUDA_ERROR_INVALID_PTX, name + ":" + std::to_string(errors.front().line) + ": " + errors.front().message);
  if (why = parsed->load(memory); !why.empty())
    fail(CUDA_ERROR_OUT_OF_MEMORY, name + ": " + why);
  for (auto &[variable, host] : managed)
    if (const GlobalInfo *global = parsed->findGlobal(variable))
      *host = memory.translate(global->address, global->bytes);
  if (const char *folder = getenv("MX_SIM_PTX"))
    if (why = mx::writeOutputFile(std::string(folder) + "/" + name, {newest.bytes}); !why.empty())
      session.report(CUDA_ERROR_INVALID_PTX, why);
  return *(modules[device] = std::move(parsed));
}

Module &Program::here() { return on(Session::get().current()); }

Function &Program::function(const std::string &kernel) {
  std::unique_ptr<Function> &found = functions[kernel];
  if (!found) {
    found = std::make_unique<Function>(Function{this, kernel});
    enter(found.get());
  }
  return *found;
}

const KernelInfo &Function::info() const {
  const KernelInfo *kernel = program->here().findKernel(name);
  if (!kernel)
    fail(CUDA_ERROR_NOT_FOUND, program->name + ": found no kernel " + name);
  return *kernel;
}

Function &mx::sim::cuda::functionOf(const void *handle) {
  Session &session = Session::get();
  if (auto known = session.kernels.find(handle); known != session.kernels.end())
    return *known->second;
  auto *function = static_cast<Function *>(const_cast<void *>(handle));
  if (!isLive(function))
    fail(CUDA_ERROR_INVALID_HANDLE, "expected a kernel of this program, found another address");
  return *function;
}

static Program *addProgram(const void *image, size_t bytes = 0) {
  Session &session = Session::get();
  auto program = std::make_unique<Program>();
  program->name = programName() + "." + std::to_string(session.programs.size() + 1) + ".ptx";
  program->image = image;
  program->imageBytes = bytes;
  enter(program.get());
  session.programs.push_back(std::move(program));
  return session.programs.back().get();
}

/// Stores the handle of a copy of an image. `bytes` is 0 if the image has its size.
template <typename Handle>
static void load(Handle *result, const void *image, size_t bytes = 0) {
  require(image);
  Image read;
  if (!readImage(image, bytes, "", read).empty())
    fail(CUDA_ERROR_INVALID_IMAGE, "expected PTX, a cubin or a fatbin, found another image");
  auto copy = std::make_unique<char[]>(read.bytes.size() + 1);
  memcpy(copy.get(), read.bytes.c_str(), read.bytes.size() + 1);
  Program *program = addProgram(copy.get(), read.bytes.size());
  program->copy = std::move(copy);
  program->here();
  *result = reinterpret_cast<Handle>(program);
}

template <typename Handle>
static void loadFile(Handle *result, const char *path) {
  std::string bytes;
  if (std::string why = mx::readInputFile(path, bytes); !why.empty())
    fail(CUDA_ERROR_FILE_NOT_FOUND, why);
  load(result, bytes.data(), bytes.size());
}

static void unload(Program &program) {
  Session &session = Session::get();
  session.handles.erase(&program);
  for (auto &[name, function] : program.functions)
    session.handles.erase(function.get());
  for (auto &[device, module] : program.modules)
    module->unload();
  program.modules.clear();
}

/// Returns a variable on the current device.
static const GlobalInfo &findVariable(Program &program, const std::string &name) {
  const GlobalInfo *global = program.here().findGlobal(name);
  require(global, CUDA_ERROR_NOT_FOUND);
  return *global;
}

//===----------------------------------------------------------------------===//
// Driver interface
//===----------------------------------------------------------------------===//

static Program &in(CUmodule module) { return live<Program>(module, CUDA_ERROR_INVALID_HANDLE); }
static Program &in(CUlibrary library) { return live<Program>(library, CUDA_ERROR_INVALID_HANDLE); }

/// Stores the handle of a kernel.
template <typename Handle>
static void find(Handle *result, Program &program, const std::string &name) {
  require(program.functions.count(name) || program.here().findKernel(name), CUDA_ERROR_NOT_FOUND);
  *result = reinterpret_cast<Handle>(&program.function(name));
}
/// Stores the address and the size of a variable; either pointer may be null.
static void findVariable(CUdeviceptr *address, size_t *bytes, Program &program, const char *name) {
  const GlobalInfo &global = findVariable(program, name);
  if (address)
    *address = global.address;
  if (bytes)
    *bytes = global.bytes;
}

MX_DRIVER(cuModuleLoadData, (CUmodule * module, const void *image), { load(module, image); })
MX_DRIVER(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned, CUjit_option *, void **),
    { load(module, image); })
MX_DRIVER(cuModuleLoadFatBinary, (CUmodule * module, const void *image), { load(module, image); })
MX_DRIVER(cuModuleLoad, (CUmodule * module, const char *path), { loadFile(module, path); })
MX_DRIVER(cuModuleUnload, (CUmodule module), { unload(in(module)); })
MX_DRIVER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
    { find(function, in(module), name); })
MX_DRIVER(cuModuleGetGlobal, (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name),
    { findVariable(address, bytes, in(module), name); })
MX_DRIVER(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), { *mode = CU_MODULE_LAZY_LOADING; })

MX_DRIVER(cuLibraryLoadData,
    (CUlibrary * library, const void *code, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned),
    { load(library, code); })
MX_RUNTIME(cudaLibraryLoadData,
    (cudaLibrary_t * library, const void *code, cudaJitOption *, void **, unsigned, cudaLibraryOption *, void **,
        unsigned),
    { load(library, code); })
MX_DRIVER(cuLibraryLoadFromFile,
    (CUlibrary * library, const char *path, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned),
    { loadFile(library, path); })
MX_RUNTIME(cudaLibraryLoadFromFile,
    (cudaLibrary_t * library, const char *path, cudaJitOption *, void **, unsigned, cudaLibraryOption *, void **,
        unsigned),
    { loadFile(library, path); })
MX_BOTH(cuLibraryUnload, cudaLibraryUnload, (CUlibrary library), { unload(in(library)); })
MX_BOTH(cuLibraryGetKernel, cudaLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
    { find(kernel, in(library), name); })
MX_DRIVER(cuLibraryEnumerateKernels, (CUkernel * kernels, unsigned count, CUlibrary library), {
  Program &program = in(library);
  const auto &found = program.here().kernels();
  for (unsigned i = 0; i < std::min<size_t>(count, found.size()); ++i)
    find(kernels + i, program, found[i].name);
})
MX_DRIVER(
    cuLibraryGetModule, (CUmodule * module, CUlibrary library), { *module = reinterpret_cast<CUmodule>(&in(library)); })
MX_DRIVER(cuLibraryGetGlobal, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name),
    { findVariable(address, bytes, in(library), name); })
MX_DRIVER(cuKernelGetFunction, (CUfunction * function, CUkernel kernel),
    { *function = reinterpret_cast<CUfunction>(&functionOf(kernel)); })
MX_DRIVER(cuFuncGetName, (const char **name, CUfunction function), { *name = functionOf(function).name.c_str(); })
MX_DRIVER(cuFuncGetModule, (CUmodule * module, CUfunction function),
    { *module = reinterpret_cast<CUmodule>(functionOf(function).program); })
MX_RUNTIME(cudaFuncGetName, (const char **name, const void *host), { *name = functionOf(host).name.c_str(); })
MX_RUNTIME(cudaGetKernel, (cudaKernel_t * kernel, const void *host),
    { *kernel = reinterpret_cast<cudaKernel_t>(&functionOf(host)); })
MX_RUNTIME(__cudaGetKernel, (cudaKernel_t * kernel, const void *host),
    { *kernel = reinterpret_cast<cudaKernel_t>(&functionOf(host)); })
MX_RUNTIME(cudaGetFuncBySymbol, (cudaFunction_t * function, const void *host),
    { *function = reinterpret_cast<cudaFunction_t>(&functionOf(host)); })

// The linker returns its only input, because modules are loaded from PTX.
static Image &in(CUlinkState state) { return live<Image>(state); }
MX_DRIVER(cuLinkCreate, (unsigned count, CUjit_option *options, void **values, CUlinkState *state), {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
      *static_cast<char *>(values[i]) = 0;
  *state = reinterpret_cast<CUlinkState>(make<Image>());
})
MX_DRIVER(cuLinkAddData,
    (CUlinkState state, CUjitInputType, void *data, size_t bytes, const char *name, unsigned, CUjit_option *, void **),
    {
      Image &image = in(state);
      require(data);
      if (!image.bytes.empty())
        fail(CUDA_ERROR_NOT_SUPPORTED, "linking several images is not supported");
      if (std::string why = readImage(data, bytes, name, image); !why.empty())
        fail(CUDA_ERROR_INVALID_IMAGE, why);
    })
MX_DRIVER(cuLinkComplete, (CUlinkState state, void **image, size_t *bytes), {
  *image = in(state).bytes.data();
  *bytes = in(state).bytes.size();
})
MX_DRIVER(cuLinkDestroy, (CUlinkState state), { destroy(in(state)); })

//===----------------------------------------------------------------------===//
// Registration by the code of nvcc
//===----------------------------------------------------------------------===//

// Called before main, and without a device.

namespace {
/// Layout of nvcc's fatbin wrapper (fatbinary_section.h).
struct Wrapper {
  int magic, version;
  const void *data;
  void *more;
};
} // namespace

MX_PUBLIC void **__cudaRegisterFatBinary(void *wrapper) {
  std::lock_guard<std::recursive_mutex> lock(Session::get().mutex);
  return reinterpret_cast<void **>(addProgram(static_cast<Wrapper *>(wrapper)->data));
}
MX_PUBLIC void __cudaRegisterFatBinaryEnd(void **) {}
MX_PUBLIC void __cudaUnregisterFatBinary(void **) {}
/// Called before the host program uses managed variables.
MX_PUBLIC char __cudaInitModule(void **handle) {
  return !run("__cudaInitModule", true, [&] { reinterpret_cast<Program *>(handle)->here(); });
}

MX_PUBLIC void __cudaRegisterFunction(
    void **handle, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  session.kernels[host] = &reinterpret_cast<Program *>(handle)->function(name);
}

MX_PUBLIC void __cudaRegisterVar(void **handle, void *host, char *, const char *name, int, size_t, int, int) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  session.variables[host] = {reinterpret_cast<Program *>(handle), name};
}

MX_PUBLIC void __cudaRegisterManagedVar(
    void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global) {
  std::lock_guard<std::recursive_mutex> lock(Session::get().mutex);
  reinterpret_cast<Program *>(handle)->managed[name] = host;
  __cudaRegisterVar(handle, host, device, name, external, bytes, constant, global);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static const GlobalInfo &findSymbol(const void *symbol) {
  auto &variables = Session::get().variables;
  auto known = variables.find(symbol);
  if (known == variables.end())
    fail(Status(cudaErrorInvalidSymbol), "expected a __device__ or __constant__ variable, found another address");
  return findVariable(*known->second.first, known->second.second);
}

/// Returns the address of bytes of a variable.
static uint64_t partOf(const void *symbol, size_t count, size_t offset) {
  const GlobalInfo &global = findSymbol(symbol);
  if (offset > global.bytes || count > global.bytes - offset)
    invalid("expected at most " + std::to_string(global.bytes) + " bytes of the variable, found " +
            std::to_string(count) + " at offset " + std::to_string(offset));
  return global.address + offset;
}

MX_RUNTIME(cudaGetSymbolAddress, (void **address, const void *symbol),
    { *address = reinterpret_cast<void *>(findSymbol(symbol).address); })
MX_RUNTIME(cudaGetSymbolSize, (size_t *bytes, const void *symbol), { *bytes = findSymbol(symbol).bytes; })
MX_WORK(MX_RUNTIME, cudaMemcpyToSymbol,
    (const void *symbol, const void *from, size_t count, size_t offset, cudaMemcpyKind),
    copyOf(partOf(symbol, count, offset), from, count))
MX_WORK(MX_RUNTIME, cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t count, size_t offset, cudaMemcpyKind),
    copyOf(to, partOf(symbol, count, offset), count))
