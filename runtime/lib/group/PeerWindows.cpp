//===- PeerWindows.cpp - Windows of other ranks on one machine ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PeerWindows.h"

#include "Bootstrap.h"

using namespace mx::runtime;

static constexpr char kKernel[] =
#include "PeerSync.inc"
    ;
/// Size of a line of the kernel's block.
static constexpr size_t kLine = 128;

PeerWindows::~PeerWindows() {
  for (cuda::CUdeviceptr each : opened)
    (void)device.release("unmapping memory of a peer",
                         [&] { return device.driver.ipcCloseMemHandle(each); });
  for (void *each : allocated)
    (void)device.free(each);
}

//===----------------------------------------------------------------------===//
// Mappings
//===----------------------------------------------------------------------===//

Error PeerWindows::alloc(size_t bytes, void *&memory) {
  allocated.reserve(allocated.size() + 1);
  Error error = device.alloc(bytes, /*shared=*/false, memory);
  if (!error)
    allocated.push_back(memory);
  return error;
}

/// Loads the kernel and initializes its block, before other ranks write there.
Error PeerWindows::load() {
  const cuda::Driver &driver = device.driver;
  if (wanted == "nccl")
    return {MX_ERROR_UNSUPPORTED, "transport nccl maps no windows"};
  if (!driver.memGetAddressRange || !driver.memHostGetDevicePointer ||
      !driver.ipcGetMemHandle || !driver.ipcOpenMemHandle ||
      !driver.ipcCloseMemHandle)
    return {MX_ERROR_UNSUPPORTED, "the CUDA driver lacks functions for IPC"};
  size_t lines = size_t(links.control.size) + 1;
  Error error = device.run("mapping host memory", [&] {
    return driver.memHostGetDevicePointer(
        &signals, const_cast<uint32_t *>(progress.getSignals()), 0);
  });
  Image image;
  (void)sim::readImage(kKernel, 0, "PeerSync.ptx", image); // accepts all text
  if (!error)
    error = device.load(image, /*optLevel=*/-1, module);
  if (!error)
    error = alloc(lines * (kLine + sizeof(char *)), block);
  if (!error)
    error = device.fill(block, 0, 1, lines * kLine, nullptr);
  return error ? error : device.synchronizeStream(nullptr);
}

Error PeerWindows::open() {
  std::vector<char *> lines;
  Error mine = load();
  Error error = mapOnAll(block, mine, lines, [&] {
    for (char *&line : lines)
      line += size_t(links.control.rank) * kLine;
    Error error = device.copy(
        Copy::ToDevice, static_cast<char *>(block) + (lines.size() + 1) * kLine,
        lines.data(), lines.size() * sizeof(char *), nullptr);
    return error ? error : module->getFunction("mx_peer_sync", sync);
  });
  if (lines.empty())
    sync = nullptr;
  return error;
}

Error PeerWindows::mapOnAll(void *memory, Error mine,
                            std::vector<char *> &places,
                            const std::function<Error()> &finish) {
  struct Export {
    cuda::CUipcMemHandle handle;
    uint64_t offset, machine;
    bool isRequired, isValid;
  } own = {};
  const cuda::Driver &driver = device.driver;
  auto address = cuda::CUdeviceptr(uintptr_t(memory)), base = address;
  if (!mine)
    mine = device.run("exporting memory to other ranks", [&] {
      size_t bytes;
      cuda::CUresult result = driver.memGetAddressRange(&base, &bytes, address);
      return result ? result : driver.ipcGetMemHandle(&own.handle, base);
    });
  own.offset = address - base;
  own.machine = std::hash<std::string>()(describeMachine());
  own.isRequired = wanted == "peer";
  own.isValid = !mine;
  size_t size = size_t(links.control.size);
  std::vector<Export> all(size);
  if (Error error =
          links.exchange("handles of memory", &own, sizeof(own), all.data()))
    return error;
  bool isValid = true;
  for (const Export &each : all) {
    isRequired |= each.isRequired;
    isValid &= each.isValid;
    if (!mine && each.machine != own.machine)
      mine = {MX_ERROR_UNSUPPORTED, "the ranks are on several machines"};
  }
  places.assign(size, static_cast<char *>(memory));
  opened.reserve(opened.size() + size);
  for (size_t r = 0; r < size && isValid && !mine; ++r) {
    if (r == size_t(links.control.rank))
      continue;
    mine = device.run(
        [&] { return "mapping memory of rank " + std::to_string(r); },
        [&] {
          return driver.ipcOpenMemHandle(
              &base, all[r].handle, cuda::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        });
    if (!mine)
      opened.push_back(base);
    places[r] = reinterpret_cast<char *>(base + all[r].offset);
  }
  if (isValid && !mine)
    mine = finish();
  if (mine && isRequired)
    mine.text +=
        ": transport peer needs GPUs of one machine that access each other, a "
        "process for each rank, and windows from cuMemAlloc";
  Error error = links.agree("the mapping of memory", mine);
  if (error)
    places.clear();
  return isRequired || links.control.getFailure() ? error : Error();
}

Error PeerWindows::map(void *memory, size_t bytes) {
  std::vector<char *> places;
  void *table = nullptr;
  if (isOpen() && bytes)
    if (Error error = mapOnAll(memory, {}, places, [&] {
          std::vector<int64_t> values;
          for (char *place : places)
            values.push_back(int64_t(uintptr_t(place) - uintptr_t(memory)));
          size_t all = values.size() * sizeof(values[0]);
          Error error = alloc(all, table);
          return error ? error
                       : device.copy(Copy::ToDevice, table, values.data(), all,
                                     nullptr);
        }))
      return error;
  windows = std::move(places);
  windowBytes = bytes;
  distances = windows.empty() ? nullptr : table;
  return {};
}

bool PeerWindows::contains(const void *memory, size_t bytes) const {
  if (windows.empty())
    return false;
  size_t offset =
      uintptr_t(memory) - uintptr_t(windows[size_t(links.control.rank)]);
  return offset < windowBytes && bytes <= windowBytes - offset;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Error PeerWindows::meet(const Operation &operation, size_t offset,
                        void *stream) {
  if (progress.getSignals()[0])
    return links.control.await();
  uint32_t ranks = uint32_t(links.control.size);
  // Different collectives have different tags, except by chance.
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
  uint64_t mixed = (offset * kMix ^ operation.bytes) * kMix + operation.kind;
  uint32_t tag = uint32_t(mixed * kMix >> 32);
  void *parameters[] = {&block, &signals, &ranks, &tag};
  Launch launch = {{1, 1, 1}, {32, 1, 1}, {},    0,      stream,
                   false,     false,      false, nullptr};
  return device.launch(*sync, launch, parameters, std::size(parameters));
}

Error PeerWindows::move(const Operation &operation, const void *from,
                        size_t stride, void *to, void *stream) {
  size_t size = size_t(links.control.size), rank = size_t(links.control.rank);
  size_t bytes = size_t(operation.bytes);
  size_t offset = size_t(static_cast<char *>(to) - windows[rank]);
  auto copyTo = [&](size_t r) {
    const char *source = static_cast<const char *>(from) + r * stride;
    char *target = windows[r] + offset + rank * bytes;
    return bytes && source != target
               ? device.copy(Copy::OnDevice, target, source, bytes, stream)
               : Error();
  };
  // No other rank uses this rank's own segment.
  Error error = copyTo(rank);
  if (!error)
    error = meet(operation, offset, stream);
  // Each rank begins with another peer, so no peer receives all data at once.
  for (size_t i = 1; i < size && !error; ++i)
    error = copyTo((rank + i) % size);
  return error ? error : meet(operation, offset, stream);
}
