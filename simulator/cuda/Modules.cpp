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

Program::~Program() {
  for (auto &[device, module] : modules)
    module->unload();
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

Status Program::on(int device, Module *&result) {
  std::unique_ptr<Module> &module = modules[device];
  if (!module) {
    Session &session = Session::get();
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
      return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, why);
    std::vector<Diagnostic> errors;
    auto parsed = Module::parse(newest.bytes, name, errors);
    if (!parsed)
      return fail(
          CUDA_ERROR_INVALID_PTX, name + ":" + std::to_string(errors.front().line) + ": " + errors.front().message);
    if (why = parsed->load(session.devices[size_t(device)]->memory); !why.empty())
      return fail(CUDA_ERROR_OUT_OF_MEMORY, name + ": " + why);
    for (auto &[variable, host] : managed)
      if (const GlobalInfo *global = parsed->findGlobal(variable))
        *host = session.devices[size_t(device)]->memory.translate(global->address, global->bytes);
    if (const char *folder = getenv("MX_SIM_PTX"))
      if (why = mx::writeOutputFile(std::string(folder) + "/" + name, {newest.bytes}); !why.empty())
        (void)fail(CUDA_ERROR_INVALID_PTX, why);
    module = std::move(parsed);
  }
  result = module.get();
  return CUDA_SUCCESS;
}

Status Program::find(std::string_view kernel, Function *&function) {
  auto known = functions.find(kernel);
  if (known == functions.end()) {
    Module *module;
    if (Status status = on(Session::get().current(), module))
      return status;
    if (!module->findKernel(kernel))
      return CUDA_ERROR_NOT_FOUND;
    auto made = std::make_unique<Function>();
    made->program = this;
    made->name = kernel;
    enter(made.get());
    known = functions.emplace(made->name, std::move(made)).first;
  }
  function = known->second.get();
  return CUDA_SUCCESS;
}

Status Function::info(const KernelInfo *&kernel) {
  Module *module;
  if (Status status = program->on(Session::get().current(), module))
    return status;
  kernel = module->findKernel(name);
  return kernel ? CUDA_SUCCESS : fail(CUDA_ERROR_NOT_FOUND, program->name + ": found no kernel " + name);
}

Status mx::sim::cuda::functionOf(const void *handle, Function *&function) {
  Session &session = Session::get();
  if (auto known = session.kernels.find(handle); known != session.kernels.end())
    function = known->second;
  else if (auto *known = static_cast<const Function *>(handle); isLive(known))
    function = const_cast<Function *>(known);
  else
    return fail(CUDA_ERROR_INVALID_HANDLE, "expected a kernel of this program, found another address");
  return CUDA_SUCCESS;
}

static Program *addProgram(const void *image, size_t bytes, bool isCopied) {
  Session &session = Session::get();
  auto program = std::make_unique<Program>();
  program->name = programName() + "." + std::to_string(session.programs.size() + 1) + ".ptx";
  program->image = image;
  program->imageBytes = bytes;
  if (isCopied) {
    Image read;
    if (!readImage(image, bytes, "", read).empty())
      return nullptr;
    program->copy = std::make_unique<char[]>(read.bytes.size() + 1);
    memcpy(program->copy.get(), read.bytes.c_str(), read.bytes.size() + 1);
    program->image = program->copy.get();
    program->imageBytes = read.bytes.size();
  }
  enter(program.get());
  session.programs.push_back(std::move(program));
  return session.programs.back().get();
}

static Status load(const void *image, size_t bytes, Program *&program) {
  if (!image)
    return CUDA_ERROR_INVALID_VALUE;
  program = addProgram(image, bytes, /*isCopied=*/true);
  if (!program)
    return fail(CUDA_ERROR_INVALID_IMAGE, "expected PTX, a cubin or a fatbin, found another image");
  Module *module;
  return program->on(Session::get().current(), module);
}

static Status loadFile(const char *path, Program *&program) {
  std::string bytes;
  if (std::string why = mx::readInputFile(path, bytes); !why.empty())
    return fail(CUDA_ERROR_FILE_NOT_FOUND, why);
  return load(bytes.data(), bytes.size(), program);
}

static Status unload(Program *program) {
  Session &session = Session::get();
  if (!isLive(program))
    return CUDA_ERROR_INVALID_HANDLE;
  session.handles.erase(program);
  for (auto &[name, function] : program->functions)
    session.handles.erase(function.get());
  for (auto &[device, module] : program->modules)
    module->unload();
  program->modules.clear();
  return CUDA_SUCCESS;
}

/// Finds the address and the size of a variable on the current device.
static Status findVariable(Program *program, const std::string &name, uint64_t &address, size_t &bytes) {
  Module *module;
  if (Status status = program->on(Session::get().current(), module))
    return status;
  const GlobalInfo *global = module->findGlobal(name);
  if (!global)
    return CUDA_ERROR_NOT_FOUND;
  address = global->address;
  bytes = global->bytes;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Driver interface
//===----------------------------------------------------------------------===//

static Program *in(CUmodule module) { return reinterpret_cast<Program *>(module); }
static Program *in(CUlibrary library) { return reinterpret_cast<Program *>(library); }
/// Stores the handle of `made`, a variable that the computation of `status`
/// sets.
template <typename Handle, typename T>
static Status out(Handle *result, Status status, T *const &made) {
  if (!status)
    *result = reinterpret_cast<Handle>(made);
  return status;
}

/// Loads an image, or a file, and stores its handle.
template <typename Handle>
static Status loadAs(Handle *result, const void *image) {
  Program *program = nullptr;
  return out(result, load(image, 0, program), program);
}
template <typename Handle>
static Status loadFileAs(Handle *result, const char *path) {
  Program *program = nullptr;
  return out(result, loadFile(path, program), program);
}
/// Stores the handle of a kernel.
template <typename Handle>
static Status findAs(Handle *result, Program *program, const char *name) {
  Function *found = nullptr;
  return isLive(program) ? out(result, program->find(name, found), found) : CUDA_ERROR_INVALID_HANDLE;
}
/// Stores the address and the size of a variable; either pointer may be null.
static Status findVariableAs(CUdeviceptr *address, size_t *bytes, Program *program, const char *name) {
  uint64_t at = 0;
  size_t size = 0;
  Status status = isLive(program) ? findVariable(program, name, at, size) : CUDA_ERROR_INVALID_HANDLE;
  if (!status && address)
    *address = at;
  if (!status && bytes)
    *bytes = size;
  return status;
}
/// Stores the handle that `get` returns for a function.
template <typename Result, typename Get>
static Status describe(const void *handle, Result *result, Get get) {
  Function *function = nullptr;
  Status status = functionOf(handle, function);
  if (!status)
    *result = (Result)get(*function);
  return status;
}

MX_DRIVER(cuModuleLoadData, (CUmodule * module, const void *image), { return loadAs(module, image); })
MX_DRIVER(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned, CUjit_option *, void **),
    { return loadAs(module, image); })
MX_DRIVER(cuModuleLoadFatBinary, (CUmodule * module, const void *image), { return loadAs(module, image); })
MX_DRIVER(cuModuleLoad, (CUmodule * module, const char *path), { return loadFileAs(module, path); })
MX_DRIVER(cuModuleUnload, (CUmodule module), { return unload(in(module)); })
MX_DRIVER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
    { return findAs(function, in(module), name); })
MX_DRIVER(cuModuleGetGlobal, (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name),
    { return findVariableAs(address, bytes, in(module), name); })
MX_DRIVER(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), {
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
})

MX_DRIVER(cuLibraryLoadData,
    (CUlibrary * library, const void *code, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned),
    { return loadAs(library, code); })
MX_RUNTIME(cudaLibraryLoadData,
    (cudaLibrary_t * library, const void *code, cudaJitOption *, void **, unsigned, cudaLibraryOption *, void **,
        unsigned),
    { return loadAs(library, code); })
MX_DRIVER(cuLibraryLoadFromFile,
    (CUlibrary * library, const char *path, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned),
    { return loadFileAs(library, path); })
MX_RUNTIME(cudaLibraryLoadFromFile,
    (cudaLibrary_t * library, const char *path, cudaJitOption *, void **, unsigned, cudaLibraryOption *, void **,
        unsigned),
    { return loadFileAs(library, path); })
MX_BOTH(cuLibraryUnload, cudaLibraryUnload, (CUlibrary library), { return unload(in(library)); })
MX_BOTH(cuLibraryGetKernel, cudaLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
    { return findAs(kernel, in(library), name); })
MX_DRIVER(cuLibraryEnumerateKernels, (CUkernel * kernels, unsigned count, CUlibrary library), {
  Module *module;
  if (!isLive(in(library)))
    return CUDA_ERROR_INVALID_HANDLE;
  Status status = in(library)->on(Session::get().current(), module);
  for (unsigned i = 0; !status && i < std::min<size_t>(count, module->kernels().size()); ++i)
    status = findAs(kernels + i, in(library), module->kernels()[i].name.c_str());
  return status;
})
MX_DRIVER(cuLibraryGetModule, (CUmodule * module, CUlibrary library),
    { return out(module, isLive(in(library)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE, in(library)); })
MX_DRIVER(cuLibraryGetGlobal, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name),
    { return findVariableAs(address, bytes, in(library), name); })
MX_DRIVER(cuKernelGetFunction, (CUfunction * function, CUkernel kernel),
    { return describe(kernel, function, [](Function &f) { return &f; }); })
MX_DRIVER(cuFuncGetName, (const char **name, CUfunction function),
    { return describe(function, name, [](Function &f) { return f.name.c_str(); }); })
MX_DRIVER(cuFuncGetModule, (CUmodule * module, CUfunction function),
    { return describe(function, module, [](Function &f) { return f.program; }); })
MX_RUNTIME(cudaFuncGetName, (const char **name, const void *host),
    { return describe(host, name, [](Function &f) { return f.name.c_str(); }); })
MX_RUNTIME(cudaGetKernel, (cudaKernel_t * kernel, const void *host),
    { return describe(host, kernel, [](Function &f) { return &f; }); })
MX_RUNTIME(__cudaGetKernel, (cudaKernel_t * kernel, const void *host),
    { return describe(host, kernel, [](Function &f) { return &f; }); })
MX_RUNTIME(cudaGetFuncBySymbol, (cudaFunction_t * function, const void *host),
    { return describe(host, function, [](Function &f) { return &f; }); })

// The linker returns its only input, because modules are loaded from PTX.
static Image *in(CUlinkState state) { return reinterpret_cast<Image *>(state); }
static Status addInput(Image *image, const void *data, size_t bytes, const char *name) {
  if (!isLive(image) || !data)
    return CUDA_ERROR_INVALID_VALUE;
  if (!image->bytes.empty())
    return fail(CUDA_ERROR_NOT_SUPPORTED, "linking several images is not supported");
  std::string why = readImage(data, bytes, name, *image);
  return why.empty() ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_IMAGE, why);
}
MX_DRIVER(cuLinkCreate, (unsigned count, CUjit_option *options, void **values, CUlinkState *state), {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
      *static_cast<char *>(values[i]) = 0;
  *state = reinterpret_cast<CUlinkState>(make<Image>());
  return CUDA_SUCCESS;
})
MX_DRIVER(cuLinkAddData,
    (CUlinkState state, CUjitInputType, void *data, size_t bytes, const char *name, unsigned, CUjit_option *, void **),
    { return addInput(in(state), data, bytes, name); })
MX_DRIVER(cuLinkComplete, (CUlinkState state, void **image, size_t *bytes), {
  if (!isLive(in(state)))
    return CUDA_ERROR_INVALID_VALUE;
  *image = in(state)->bytes.data();
  *bytes = in(state)->bytes.size();
  return CUDA_SUCCESS;
})
MX_DRIVER(cuLinkDestroy, (CUlinkState state), { return destroy(in(state)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })

//===----------------------------------------------------------------------===//
// Registration by the code of nvcc
//===----------------------------------------------------------------------===//

// Called before main, and without a device.
#define MX_PUBLIC extern "C" __attribute__((visibility("default")))

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
  return reinterpret_cast<void **>(addProgram(static_cast<Wrapper *>(wrapper)->data, 0, false));
}
MX_PUBLIC void __cudaRegisterFatBinaryEnd(void **) {}
MX_PUBLIC void __cudaUnregisterFatBinary(void **) {}
/// Called before the host program uses managed variables.
MX_PUBLIC char __cudaInitModule(void **handle) {
  return !run("__cudaInitModule", true, [&]() -> Status {
    Module *module;
    return reinterpret_cast<Program *>(handle)->on(Session::get().current(), module);
  });
}

MX_PUBLIC void __cudaRegisterFunction(
    void **handle, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  auto *program = reinterpret_cast<Program *>(handle);
  std::unique_ptr<Function> &function = program->functions[name];
  if (!function) {
    function = std::make_unique<Function>();
    function->program = program;
    function->name = name;
    enter(function.get());
  }
  session.kernels[host] = function.get();
}

MX_PUBLIC void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t, int, int) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  session.variables[host] = {reinterpret_cast<Program *>(handle), name};
}

MX_PUBLIC void __cudaRegisterManagedVar(void **handle, void **host, char *, const char *name, int, size_t, int, int) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  auto *program = reinterpret_cast<Program *>(handle);
  program->managed[name] = host;
  session.variables[host] = {program, name};
}

//===----------------------------------------------------------------------===//
// Runtime interface
//===----------------------------------------------------------------------===//

static Status findSymbol(const void *symbol, uint64_t &address, size_t &bytes) {
  Session &session = Session::get();
  auto known = session.variables.find(symbol);
  if (known == session.variables.end())
    return fail(Status(cudaErrorInvalidSymbol), "expected a __device__ or __constant__ variable, found another "
                                                "address");
  auto &[program, name] = known->second;
  return findVariable(program, name, address, bytes);
}

/// Copies between host memory and a variable.
static Status copySymbol(
    const void *symbol, const void *from, void *to, size_t count, size_t offset, cudaStream_t stream) {
  uint64_t address = 0;
  size_t bytes = 0;
  if (Status status = findSymbol(symbol, address, bytes))
    return status;
  if (offset > bytes || count > bytes - offset)
    return invalid("expected at most " + std::to_string(bytes) + " bytes of the variable, found " +
                   std::to_string(count) + " at offset " + std::to_string(offset));
  Operation copy;
  copy.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  copy.to.address = to ? uint64_t(to) : address + offset;
  copy.from.address = from ? uint64_t(from) : address + offset;
  copy.width = count;
  return submit(stream, std::move(copy));
}

MX_RUNTIME(cudaGetSymbolAddress, (void **address, const void *symbol), {
  uint64_t at = 0;
  size_t bytes;
  Status status = findSymbol(symbol, at, bytes);
  *address = reinterpret_cast<void *>(at);
  return status;
})
MX_RUNTIME(cudaGetSymbolSize, (size_t *bytes, const void *symbol), {
  uint64_t address;
  return findSymbol(symbol, address, *bytes);
})
MX_RUNTIME(cudaMemcpyToSymbol, (const void *symbol, const void *from, size_t count, size_t offset, cudaMemcpyKind),
    { return copySymbol(symbol, from, nullptr, count, offset, nullptr); })
MX_RUNTIME(cudaMemcpyToSymbolAsync,
    (const void *symbol, const void *from, size_t count, size_t offset, cudaMemcpyKind, cudaStream_t stream),
    { return copySymbol(symbol, from, nullptr, count, offset, stream); })
MX_RUNTIME(cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t count, size_t offset, cudaMemcpyKind),
    { return copySymbol(symbol, nullptr, to, count, offset, nullptr); })
MX_RUNTIME(cudaMemcpyFromSymbolAsync,
    (void *to, const void *symbol, size_t count, size_t offset, cudaMemcpyKind, cudaStream_t stream),
    { return copySymbol(symbol, nullptr, to, count, offset, stream); })
