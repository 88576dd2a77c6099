//===- FakeCuda.cpp - Fake CUDA driver ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory is host memory, so copies and fills really happen. Processes
// that fork after this library is loaded can map each other's memory. Launches
// are only recorded, except for PeerSync.ptx. CudaAbiTest compares the
// runtime's types with cuda.h.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include "../../runtime/lib/cuda/Driver.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <sys/mman.h>
#include <tuple>
#include <unistd.h>

using namespace mx::runtime::cuda;

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult

FakeCuda *fakeCuda() {
  static FakeCuda state = [] {
    FakeCuda begin;
    const char *readsPtx = getenv("MX_FAKE_CUDA_READS_PTX");
    begin.readsPtx = readsPtx && *readsPtx == '1';
    if (begin.readsPtx)
      begin.staticShared = 0;
    if (const char *wrong = getenv("MX_FAKE_CUDA_WRONG_SHARED"))
      begin.wrongShared = atoi(wrong);
    if (const char *capability = getenv("MX_FAKE_CUDA_CAPABILITY"))
      sscanf(capability, "%d.%d", &begin.capabilityMajor,
             &begin.capabilityMinor);
    return begin;
  }();
  return &state;
}

const char *fakeCudaTakeLog() {
  static std::string text;
  text.clear();
  for (const std::string &line : fakeCuda()->log)
    text += line + "\n";
  fakeCuda()->log.clear();
  return text.c_str();
}

namespace {

FakeCuda &fake = *fakeCuda();

constexpr CUresult kInvalidContext = 201, kInvalidHandle = 400;
/// Handle of the kernel in PeerSync.ptx on the first device.
constexpr uintptr_t kPeerSync = 0x78;

/// Returns the device of the current context, or -1.
int current() { return fake.contexts.empty() ? -1 : fake.contexts.back(); }

/// Maps the handle of each object in a context to its device.
std::map<void *, int> &owners() {
  static auto *owners = new std::map<void *, int>;
  return *owners;
}
bool isForeign(void *handle) {
  auto found = owners().find(handle);
  return found != owners().end() && found->second != current();
}
/// Returns a handle for an object in the current context. On the first device,
/// the handle is `base`.
void *own(uintptr_t base) {
  auto *handle = reinterpret_cast<void *>(base + uintptr_t(current()) * 0x1000);
  owners()[handle] = current();
  return handle;
}

constexpr size_t kPage = 2 << 20, kArena = size_t(1) << 38;

/// Memory of all forked processes. `peers` maps the same memory again, for
/// pointers from IPC.
struct Arena {
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  const int sized = ftruncate(file, kArena);
  char *const own = map(), *const peers = map();
  char *map() {
    return static_cast<char *>(mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_NORESERVE, file, 0));
  }
} arena;

/// Allocations of this process with their sizes, and freed memory by size.
auto &sizes = *new std::map<CUdeviceptr, size_t>;
auto &freed = *new std::multimap<size_t, CUdeviceptr>;

/// Allocates whole pages of the size used by GPUs. Devices share no page.
CUdeviceptr allocate(size_t bytes) {
  // The first page contains the bytes in use by all processes.
  auto &used = *reinterpret_cast<std::atomic<size_t> *>(arena.own);
  size_t size = (bytes + kPage - 1) / kPage * kPage;
  auto node = freed.extract(size);
  CUdeviceptr first = reinterpret_cast<CUdeviceptr>(arena.own) + 2 * kPage - 1;
  CUdeviceptr address =
      node ? node.mapped() : first / kPage * kPage + used.fetch_add(size);
  sizes[address] = size;
  return address;
}

CUcontext context(int device) {
  return reinterpret_cast<CUcontext>(uintptr_t(0x1234 + 0x10000 * device));
}

CUresult call(const char *function, const std::string &details = "") {
  if (current() < 0)
    return kInvalidContext;
  fake.log.push_back(
      std::string(function) + (details.empty() ? "" : " ") + details +
      (current() ? " on " + std::to_string(current()) : std::string()));
  if (fake.failing != function)
    return CUDA_SUCCESS;
  fake.failing.clear();
  return fake.failure;
}

/// State of all modules: their PTX, the parameter counts of kernels by handle,
/// and the total time of all launches.
std::string &ptx() {
  static auto *text = new std::string;
  return *text;
}
std::map<CUfunction, int> &parametersOf() {
  static auto *counts = new std::map<CUfunction, int>;
  return *counts;
}
double busyMilliseconds = 0;
void *filledLast = nullptr;
std::map<CUevent, double> &timesOf() {
  static auto *times = new std::map<CUevent, double>;
  return *times;
}

/// Returns the parameter count of the kernel `name` in the latest module that
/// defines it, or -1.
int countParameters(const std::string &name) {
  size_t begin = ptx().rfind(".entry " + name + "(");
  if (begin == std::string::npos)
    return -1;
  size_t end = ptx().find("{", begin);
  int count = 0;
  for (size_t at = begin; (at = ptx().find(".param", at)) < end; ++at)
    ++count;
  return count;
}

std::string text(const unsigned *v) {
  return std::to_string(v[0]) + "," + std::to_string(v[1]) + "," +
         std::to_string(v[2]);
}

std::string handle(void *pointer) {
  return std::to_string(reinterpret_cast<uintptr_t>(pointer));
}

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

template <typename T, typename U>
CUresult give(T *to, U value) {
  *to = value;
  return CUDA_SUCCESS;
}

template <typename T>
CUresult fill(const char *function, CUdeviceptr to, T value, size_t count) {
  CUresult result = call(function, std::to_string(count));
  filledLast = pointer(to);
  // Buffers that only keep a GPU busy are never read.
  if (fake.readsPtx && count > size_t(32) << 20)
    return result;
  for (size_t i = 0; !result && i < count; ++i)
    static_cast<T *>(pointer(to))[i] = value;
  return result;
}

/// Runs the kernel of PeerSync.ptx.
void meet(void **parameters) {
  constexpr size_t kLine = 128;
  auto *block = *static_cast<char **>(parameters[0]);
  auto *signals = *static_cast<std::atomic<uint32_t> **>(parameters[1]);
  auto ranks = *static_cast<uint32_t *>(parameters[2]);
  uint64_t tag = *static_cast<uint32_t *>(parameters[3]);
  auto *epoch = reinterpret_cast<uint32_t *>(block + kLine * ranks);
  auto **lines = reinterpret_cast<std::atomic<uint64_t> **>(
      block + kLine * (size_t(ranks) + 1));
  uint64_t word = tag << 32 | ++*epoch;
  for (uint32_t r = 0; r < ranks; ++r)
    *lines[r] = word;
  for (uint32_t r = 0; r < ranks; ++r) {
    auto *line = reinterpret_cast<std::atomic<uint64_t> *>(block + kLine * r);
    while (int32_t(uint32_t(word = *line) - *epoch) < 0 && !*signals)
      usleep(50);
    bool differs = uint32_t(word) == *epoch && word >> 32 != tag;
    if (differs)
      signals[1] = r + 1;
    while (differs && !*signals)
      usleep(50);
  }
}

} // namespace

void fakeCudaMove(void *memory, int device) { owners()[memory] = device; }

FAKE cuInit(unsigned) { return CUDA_SUCCESS; }
FAKE cuDriverGetVersion(int *version) { return give(version, fake.version); }
FAKE cuGetErrorName(CUresult result, const char **name) {
  static char names[4][32];
  static int next = 0;
  char *slot = names[next++ % 4];
  snprintf(slot, sizeof(names[0]), "CUDA_ERROR_%d", result);
  *name = slot;
  return CUDA_SUCCESS;
}
FAKE cuGetErrorString(CUresult, const char **text) {
  return give(text, "as the test wished");
}
FAKE cuDeviceGetCount(int *count) { return give(count, fake.devices); }
FAKE cuDeviceGet(CUdevice *device, int ordinal) {
  return give(device, ordinal);
}
FAKE cuDeviceGetName(char *name, int size, CUdevice) {
  snprintf(name, size, "Fake GPU");
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  const std::map<int, int> values = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, fake.capabilityMajor},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, fake.capabilityMinor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1}};
  auto found = values.find(attribute);
  return found == values.end() ? CUDA_ERROR_INVALID_VALUE
                               : give(value, found->second);
}
FAKE cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  return give(bytes, size_t(1) << 37);
}
FAKE cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device) {
  return give(result, context(device));
}
FAKE cuCtxGetCurrent(CUcontext *result) {
  return give(result, current() < 0 ? nullptr : context(current()));
}
FAKE cuCtxPushCurrent_v2(CUcontext pushed) {
  for (int device = 0; device < fake.devices; ++device)
    if (pushed == context(device)) {
      fake.contexts.push_back(device);
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE cuCtxPopCurrent_v2(CUcontext *) {
  fake.contexts.pop_back();
  return CUDA_SUCCESS;
}
FAKE cuPointerGetAttributes(unsigned count, int *attributes, void **values,
                            CUdeviceptr address) {
  // malloc() chooses the address of a block, so find the last block at or below
  // the address.
  auto after = owners().upper_bound(pointer(address));
  bool isKnown = after != owners().begin();
  for (unsigned i = 0; i < count; ++i)
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *static_cast<unsigned *>(values[i]) = isKnown ? CU_MEMORYTYPE_DEVICE : 0;
    else
      *static_cast<int *>(values[i]) = isKnown ? std::prev(after)->second : -1;
  return CUDA_SUCCESS;
}
FAKE cuCtxSynchronize() { return call("cuCtxSynchronize"); }

FAKE cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                        int *options, void **values) {
  std::string details;
  size_t logBytes = 0;
  char *log = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char *>(values[i]);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      logBytes = reinterpret_cast<size_t>(values[i]);
    else if (options[i] == CU_JIT_OPTIMIZATION_LEVEL)
      details = "O" + handle(values[i]);
  }
  if (fake.readsPtx)
    ptx() += static_cast<const char *>(image);
  CUresult result = call("cuModuleLoadDataEx", details);
  if (result)
    snprintf(log, logBytes, "%s", fake.jitLog.c_str());
  *module = static_cast<CUmodule>(own(0x70));
  return result;
}
FAKE cuModuleUnload(CUmodule module) {
  return isForeign(module) ? kInvalidHandle : call("cuModuleUnload");
}
FAKE cuModuleGetFunction(CUfunction *function, CUmodule module,
                         const char *name) {
  if (isForeign(module))
    return kInvalidHandle;
  if (CUresult result = call("cuModuleGetFunction", name))
    return result;
  if (name == std::string("mx_peer_sync")) {
    *function = static_cast<CUfunction>(own(kPeerSync));
    parametersOf()[*function] = 4;
    return CUDA_SUCCESS;
  }
  if (int count = fake.readsPtx ? countParameters(name) : -1; count >= 0) {
    *function = static_cast<CUfunction>(
        own(0x77 + 0x100000 * (parametersOf().size() + 1)));
    parametersOf()[*function] = count;
    return CUDA_SUCCESS;
  }
  for (const std::string &kernel : fake.kernels)
    if (kernel == name)
      return give(function, static_cast<CUfunction>(own(0x77)));
  return CUDA_ERROR_NOT_FOUND;
}
FAKE cuFuncGetAttribute(int *value, int attribute, CUfunction) {
  return give(
      value,
      attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
          ? fake.staticShared
          : fake.requiredCluster[attribute -
                                 CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
}
FAKE cuFuncSetAttribute(CUfunction, int attribute, int value) {
  return call("cuFuncSetAttribute",
              std::to_string(attribute) + "=" + std::to_string(value));
}
static int parametersOf(CUfunction function) {
  auto found = parametersOf().find(function);
  return found == parametersOf().end() ? fake.parameters : found->second;
}
FAKE cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                        size_t *size) {
  *offset = index * 8;
  *size = 8;
  return index < size_t(parametersOf(function)) ? CUDA_SUCCESS
                                                : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                      void **parameters, void **extra) {
  if (isForeign(function) || isForeign(config->hStream))
    return kInvalidHandle;
  std::string details = "grid=" + text(config->gridDim) +
                        " block=" + text(config->blockDim) +
                        " smem=" + std::to_string(config->sharedMemBytes) +
                        " stream=" + handle(config->hStream);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      details += " cluster=" + text(attribute.value.clusterDim);
    else if (attribute.id ==
             CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      details += " programmatic=" +
                 std::to_string(
                     attribute.value.programmaticStreamSerializationAllowed);
    else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      details += " cooperative=" + std::to_string(attribute.value.cooperative);
    else
      details += " attribute " + std::to_string(attribute.id);
  }
  if (extra)
    details += " extra";
  busyMilliseconds += config->sharedMemBytes / 1e6;
  if (fake.wrongShared && config->sharedMemBytes == fake.wrongShared)
    *static_cast<char *>(filledLast) = 1;
  for (int i = 0; !fake.readsPtx && i < fake.parameters; ++i) {
    uint64_t value;
    memcpy(&value, parameters[i], sizeof(value));
    details += " p" + std::to_string(i) + "=" + std::to_string(value);
  }
  CUresult result = call("cuLaunchKernelEx", details);
  if (!result && function == own(kPeerSync))
    meet(parameters);
  return result;
}

/// Allocates memory if `result` is CUDA_SUCCESS.
static CUresult allocate(CUresult result, CUdeviceptr *address, size_t bytes) {
  if (!result) {
    *address = allocate(bytes);
    owners()[pointer(*address)] = current();
    ++fake.liveAllocations;
  }
  return result;
}
static CUresult release(CUresult result, CUdeviceptr address) {
  if (!result) {
    owners().erase(pointer(address));
    size_t bytes = sizes.extract(address).mapped();
    madvise(pointer(address), bytes, MADV_REMOVE);
    freed.emplace(bytes, address);
    --fake.liveAllocations;
  }
  return result;
}

FAKE cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return allocate(call("cuMemAlloc", std::to_string(bytes)), address, bytes);
}
FAKE cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  CUresult result = call("cuMemAllocManaged", "flags=" + std::to_string(flags));
  return result ? result : cuMemAlloc_v2(address, bytes);
}
FAKE cuMemFree_v2(CUdeviceptr address) {
  return release(call("cuMemFree"), address);
}

FAKE cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  return allocate(call("cuMemAllocAsync",
                       std::to_string(bytes) + " stream=" + handle(stream)),
                  address, bytes);
}
FAKE cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return release(call("cuMemFreeAsync", "stream=" + handle(stream)), address);
}

FAKE cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes,
                             CUdeviceptr address) {
  auto after = sizes.upper_bound(address);
  if (after == sizes.begin())
    return CUDA_ERROR_NOT_FOUND;
  std::tie(*base, *bytes) = *std::prev(after);
  return address < *base + *bytes ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
FAKE cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  memcpy(handle, &address, sizeof(address));
  return call("cuIpcGetMemHandle");
}
FAKE cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle,
                           unsigned flags) {
  memcpy(address, &handle, sizeof(*address));
  *address += CUdeviceptr(arena.peers - arena.own);
  return call("cuIpcOpenMemHandle", "flags=" + std::to_string(flags));
}
FAKE cuIpcCloseMemHandle(CUdeviceptr) { return call("cuIpcCloseMemHandle"); }

static CUresult copy(const char *function, void *to, const void *from,
                     size_t bytes, CUstream stream) {
  CUresult result =
      call(function, std::to_string(bytes) + " stream=" + handle(stream));
  if (!result)
    memmove(to, from, bytes);
  return result;
}

FAKE cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy("cuMemcpyHtoD", pointer(to), from, bytes, nullptr);
}
FAKE cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpyDtoH", to, pointer(from), bytes, nullptr);
}
FAKE cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                          CUstream stream) {
  return copy("cuMemcpyHtoDAsync", pointer(to), from, bytes, stream);
}
FAKE cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                          CUstream stream) {
  return copy("cuMemcpyDtoHAsync", to, pointer(from), bytes, stream);
}
FAKE cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                          CUstream stream) {
  return copy("cuMemcpyDtoDAsync", pointer(to), pointer(from), bytes, stream);
}
FAKE cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                   CUstream stream) {
  return copy("cuMemcpyAsync", pointer(to), pointer(from), bytes, stream);
}
FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                     CUstream) {
  return fill("cuMemsetD8Async", to, value, count);
}
FAKE cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                      CUstream) {
  return fill("cuMemsetD16Async", to, value, count);
}
FAKE cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  return fill("cuMemsetD32Async", to, value, count);
}
FAKE cuMemHostRegister_v2(void *, size_t bytes, unsigned) {
  return call("cuMemHostRegister", std::to_string(bytes));
}
FAKE cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory,
                                  unsigned) {
  return give(address, reinterpret_cast<CUdeviceptr>(memory));
}
FAKE cuMemHostUnregister(void *) { return call("cuMemHostUnregister"); }

FAKE cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int urgency) {
  *stream = own(urgency ? 0x58 : 0x50);
  return call("cuStreamCreateWithPriority",
              "flags=" + std::to_string(flags) +
                  (urgency ? " priority=" + std::to_string(urgency) : ""));
}
FAKE cuStreamGetCtx(CUstream stream, CUcontext *result) {
  auto found = owners().find(stream);
  if (found == owners().end())
    return kInvalidHandle;
  *result = context(found->second);
  return CUDA_SUCCESS;
}
FAKE cuStreamIsCapturing(CUstream stream, int *status) {
  return give(status, stream && stream == fake.capturing);
}
FAKE cuStreamDestroy_v2(CUstream stream) {
  return call("cuStreamDestroy", handle(stream));
}
FAKE cuStreamSynchronize(CUstream stream) {
  return call("cuStreamSynchronize", handle(stream));
}
FAKE cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (isForeign(stream))
    return kInvalidHandle;
  return call("cuStreamWaitEvent", handle(stream) + " " + handle(event));
}
FAKE cuEventCreate(CUevent *event, unsigned flags) {
  // Events need distinct handles if launches take time.
  static uintptr_t count = 0;
  *event = own(fake.readsPtx ? 0x60 + 0x100000 * ++count : 0x60);
  return call("cuEventCreate", "flags=" + std::to_string(flags));
}
FAKE cuEventDestroy_v2(CUevent event) {
  return call("cuEventDestroy", handle(event));
}
FAKE cuEventSynchronize(CUevent event) {
  return call("cuEventSynchronize", handle(event));
}
FAKE cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  *milliseconds = fake.readsPtx ? float(timesOf()[end] - timesOf()[begin])
                                : fake.milliseconds;
  return call("cuEventElapsedTime");
}
FAKE cuEventRecord(CUevent event, CUstream stream) {
  if (isForeign(event) || isForeign(stream))
    return kInvalidHandle;
  timesOf()[event] = busyMilliseconds;
  return call("cuEventRecord", handle(event) + " " + handle(stream));
}

FAKE cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                            const uint64_t *dims, const uint64_t *strides,
                            const unsigned *box, const unsigned *elementStrides,
                            int interleave, int swizzle, int l2, int oob) {
  std::string details = "type=" + std::to_string(type);
  for (unsigned i = 0; i < rank; ++i)
    details += " dim=" + std::to_string(dims[i]) +
               (i ? " stride=" + std::to_string(strides[i - 1]) : "") +
               " box=" + std::to_string(box[i]) +
               " step=" + std::to_string(elementStrides[i]);
  for (int value : {interleave, swizzle, l2, oob})
    details += " " + std::to_string(value);
  if (reinterpret_cast<uintptr_t>(map) % 64)
    return CUDA_ERROR_INVALID_VALUE;
  // The log of launches identifies a map by its first bytes.
  memset(map, 0x5A, 128);
  uint64_t word = std::hash<std::string>()(details + " at " + handle(address));
  memcpy(map, &word, sizeof word);
  return call("cuTensorMapEncodeTiled", details);
}
