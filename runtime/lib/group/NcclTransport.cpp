//===- NcclTransport.cpp - Collectives between GPUs by NCCL ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two NCCL calls may wait for peers: the creation of a communicator, and the
// first collective of each kind. Creation therefore runs in a separate thread,
// and the watchdog can abort the communicator from another thread while a call
// waits. A nonblocking communicator would run each launch in a separate thread,
// but this is slower, and a CUDA graph cannot capture such a launch.
//
// Collectives that receive in mapped windows do not use NCCL (PeerWindows.h).
//===----------------------------------------------------------------------===//

#include "Nccl.h"
#include "PeerWindows.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

using namespace mx::runtime;

namespace {

/// State that outlives the transport if NCCL does not return.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  nccl::Communicator communicator = nullptr;
  /// Result of communicator creation.
  std::optional<nccl::Result> made;
  /// `isEnded` is set when calls are no longer allowed, `isGone` when the
  /// communicator is destroyed.
  std::atomic<bool> isEnded = false;
  bool isGone = false;
};

/// Longest wait for a running call before an abort, and longest wait for the
/// abort itself. During an abort, NCCL waits for CUDA graphs that use the
/// communicator.
constexpr std::chrono::milliseconds kPatience(100), kFarewell(2000);

/// Set at process exit: NCCL must not be called while its own exit handlers
/// run.
std::atomic<bool> isExiting = false;

/// Memory and stream for the first collectives.
struct Scratch {
  explicit Scratch(Device &device) : device(device) {}
  ~Scratch() {
    if (stream)
      (void)device.destroyStream(stream);
    for (void *each : {from, to})
      if (each)
        (void)device.free(each);
  }
  Error open(size_t bytes) {
    Error error = device.createStream(stream);
    for (void **each : {&from, &to})
      if (!error)
        error = device.alloc(bytes, false, *each);
    return error;
  }
  Device &device;
  void *stream = nullptr, *from = nullptr, *to = nullptr;
};

class NcclTransport final : public Transport {
public:
  NcclTransport(Links &links, std::string_view wanted)
      : Transport(links), device(static_cast<cuda::CudaDevice &>(links.device)),
        progress(device), peers(links, progress, wanted),
        cannotOpen(progress.open()) {}
  ~NcclTransport() override { leaveEnder(); }

  const char *getName() const override { return getPeers() ? "peer" : "nccl"; }
  int getVersion() const override { return library ? library->version : 0; }
  Error open() override;
  void close() override;
  Error setWindows(void *memory, size_t bytes) override {
    return peers.map(memory, bytes);
  }
  Error allGather(const Operation &operation, void *window,
                  void *stream) override;
  Error allToAll(const Operation &operation, const void *from, void *to,
                 void *stream) override;
  Error barrier(const Operation &operation, void *stream) override {
    return track(operation, stream,
                 [&] { return peers.meet(operation, 0, stream); });
  }
  const void *getPeers() const override { return peers.getDistances(); }

  Place getPlace() override;
  void stop() override;
  void look() override;
  Clock::duration getPeriod() override {
    return std::clamp<Clock::duration>(links.control.timeout / 20,
                                       std::chrono::milliseconds(1),
                                       std::chrono::milliseconds(100));
  }

private:
  template <typename Call>
  Error call(const char *what, Call call);
  /// Runs a collective between two marks of its progress.
  template <typename Body>
  Error track(const Operation &operation, void *stream, Body body);
  template <typename Call>
  Error run(const Operation &operation, void *stream, const char *what,
            Call call);
  /// Creates the communicator within the time-out.
  Error connect(const nccl::UniqueId &id);
  Error exchangeAll(const Operation &operation, const void *from, void *to,
                    void *stream);
  bool isMapped(const Operation &operation, const void *to) const {
    return peers.contains(to,
                          size_t(operation.bytes) * size_t(links.control.size));
  }
  Error tryOut();
  void leaveEnder();

  cuda::CudaDevice &device;
  Progress progress;
  PeerWindows peers;
  /// Error of `progress`, which opens before the watchdog reads there.
  const Error cannotOpen;
  const nccl::Library *library = nullptr;
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::thread ender;
};

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Runs an NCCL call while the device is current.
template <typename Call>
Error NcclTransport::call(const char *what, Call call) {
  nccl::Result result = nccl::kSuccess;
  std::unique_lock<std::mutex> lock(shared->mutex);
  Error error;
  if (!shared->isEnded)
    error = device.run(what, [&] {
      result = call(shared->communicator);
      return cuda::CUDA_SUCCESS;
    });
  if (shared->isEnded) {
    lock.unlock();
    return links.control.await();
  }
  if (result)
    return library->error(what, result, shared->communicator);
  return error;
}

template <typename Body>
Error NcclTransport::track(const Operation &operation, void *stream,
                           Body body) {
  uint32_t number = progress.getNumber(operation);
  Error error = progress.markBegin(number, stream);
  if (!error)
    error = body();
  return error ? error : progress.markEnd(number, stream);
}

template <typename Call>
Error NcclTransport::run(const Operation &operation, void *stream,
                         const char *what, Call each) {
  return track(operation, stream, [&] { return call(what, each); });
}

Error NcclTransport::allGather(const Operation &operation, void *window,
                               void *stream) {
  size_t bytes = size_t(operation.bytes);
  const char *mine =
      static_cast<char *>(window) + size_t(links.control.rank) * bytes;
  if (isMapped(operation, window))
    return track(operation, stream, [&] {
      return peers.move(operation, mine, /*stride=*/0, window, stream);
    });
  return run(operation, stream, "ncclAllGather", [&](nccl::Communicator c) {
    return library->allGather(mine, window, bytes, nccl::kUint8, c, stream);
  });
}

Error NcclTransport::allToAll(const Operation &operation, const void *from,
                              void *to, void *stream) {
  size_t bytes = size_t(operation.bytes);
  if (isMapped(operation, to))
    return track(operation, stream, [&] {
      return peers.move(operation, from, /*stride=*/bytes, to, stream);
    });
  if (!library->allToAll)
    return exchangeAll(operation, from, to, stream);
  return run(operation, stream, "ncclAlltoAll", [&](nccl::Communicator c) {
    return library->allToAll(from, to, bytes, nccl::kUint8, c, stream);
  });
}

/// Exchanges segments with send and receive, for NCCL before 2.28.
Error NcclTransport::exchangeAll(const Operation &operation, const void *from,
                                 void *to, void *stream) {
  size_t bytes = size_t(operation.bytes);
  return run(operation, stream, "ncclGroupEnd", [&](nccl::Communicator c) {
    nccl::Result result = library->groupStart();
    for (int i = 0; i < links.control.size && !result; ++i) {
      size_t at = size_t(i) * bytes;
      result = library->send(static_cast<const char *>(from) + at, bytes,
                             nccl::kUint8, i, c, stream);
      if (!result)
        result = library->receive(static_cast<char *>(to) + at, bytes,
                                  nccl::kUint8, i, c, stream);
    }
    nccl::Result ended = library->groupEnd();
    return result ? result : ended;
  });
}

//===----------------------------------------------------------------------===//
// Creation and destruction
//===----------------------------------------------------------------------===//

Error NcclTransport::open() {
  if (Error error = nccl::getLibrary(library))
    return error;
  // Register the handler after loading NCCL, to run before NCCL's own handlers.
  [[maybe_unused]] static const int noted =
      std::atexit([] { isExiting = true; });
  if (cannotOpen)
    return cannotOpen;
  Control &control = links.control;
  nccl::UniqueId mine = {};
  if (control.rank == 0)
    if (nccl::Result result = library->getUniqueId(&mine))
      return library->error("ncclGetUniqueId", result, nullptr);
  std::vector<nccl::UniqueId> ids(static_cast<size_t>(control.size));
  if (Error error = links.exchange("the communicator of NCCL", &mine,
                                   sizeof(mine), ids.data()))
    return error;
  Error error = connect(ids[0]);
  if (!error)
    error = peers.open();
  return error ? error : tryOut();
}

Error NcclTransport::connect(const nccl::UniqueId &id) {
  Control &control = links.control;
  std::thread([shared = shared, library = library, &device = device, id,
               size = control.size, rank = control.rank, name = control.name] {
    nccl::Communicator made = nullptr;
    nccl::Result result = nccl::kSuccess;
    Error error = device.run("ncclCommInitRankConfig", [&] {
      nccl::Config config;
      config.blocking = 1;
      config.commName = name.c_str();
      result = library->commInitRankConfig(&made, size, id, rank, &config);
      return cuda::CUDA_SUCCESS;
    });
    std::unique_lock<std::mutex> lock(shared->mutex);
    shared->communicator = result || error ? nullptr : made;
    shared->made = error ? nccl::kSystemError : result;
    // The rank no longer waits for the communicator.
    if (shared->isEnded && shared->communicator && !isExiting) {
      lock.unlock();
      library->commAbort(made);
      lock.lock();
    }
    shared->isGone = shared->isEnded.load();
    shared->changed.notify_all();
  }).detach();
  auto begin = Clock::now();
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (!shared->made && !control.getFailure()) {
    shared->changed.wait_for(lock, std::chrono::milliseconds(10));
    if (shared->made || Clock::now() - begin < control.timeout)
      continue;
    lock.unlock();
    control.stalls({links.getPlace().operation, begin});
    Error error = control.await();
    lock.lock();
    shared->isEnded = true;
    return error;
  }
  if (!shared->made || shared->isEnded) {
    shared->isEnded = true;
    lock.unlock();
    return control.await();
  }
  return *shared->made
             ? library->error("ncclCommInitRankConfig", *shared->made, nullptr)
             : Error();
}

/// Runs each kind of collective once. The first run connects the GPUs. This is
/// slow and may fail, so the first step of a program must not do so.
Error NcclTransport::tryOut() {
  constexpr size_t kBytes = 4096;
  size_t size = size_t(links.control.size), rank = size_t(links.control.rank);
  Scratch scratch(device);
  if (Error error = scratch.open(size * kBytes))
    return error;
  void *stream = scratch.stream;
  char *mine = static_cast<char *>(scratch.from) + rank * kBytes;
  Error error = device.fill(mine, uint32_t(rank + 1), 1, kBytes, stream);
  auto begin = [&](Operation::Kind kind) {
    return links.begin({kind, kBytes, 0, "", -1});
  };
  if (!error)
    error = allGather(begin(Operation::AllGather), scratch.from, stream);
  if (!error)
    error =
        allToAll(begin(Operation::AllToAll), scratch.from, scratch.to, stream);
  if (!error && peers.isOpen())
    error = barrier(begin(Operation::Barrier), stream);
  // The watchdog ends a hanging collective.
  if (!error)
    error = device.synchronizeStream(stream);
  std::vector<char> gathered(size * kBytes), sent(size * kBytes);
  if (!error)
    error = device.copy(Copy::ToHost, gathered.data(), scratch.from,
                        gathered.size(), nullptr);
  if (!error)
    error = device.copy(Copy::ToHost, sent.data(), scratch.to, sent.size(),
                        nullptr);
  links.end();
  if (links.control.getFailure())
    return links.control.getStatus();
  for (size_t i = 0; i < size * kBytes && !error; ++i)
    if (gathered[i] != char(i / kBytes + 1) || sent[i] != char(rank + 1))
      error = {MX_ERROR_DRIVER,
               "NCCL " + nccl::describeVersion(library->version) +
                   " delivered wrong bytes in a test transfer"};
  return error;
}

/// Waits for the running collective, and destroys the communicator. A
/// background thread takes over if this is slow.
void NcclTransport::close() {
  Deadline deadline = Clock::now() + std::min<Clock::duration>(
                                         links.control.timeout, kFarewell);
  while (progress.getPlace().isRunning && !links.control.getFailure() &&
         Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!cannotOpen)
    peers.stop();
  std::unique_lock<std::mutex> lock(shared->mutex);
  if (shared->communicator && !shared->isEnded) {
    shared->isEnded = true;
    std::thread([shared = shared, library = library, &device = device] {
      (void)device.run("ncclCommDestroy", [&] {
        library->commFinalize(shared->communicator);
        library->commDestroy(shared->communicator);
        return cuda::CUDA_SUCCESS;
      });
      std::lock_guard<std::mutex> lock(shared->mutex);
      shared->isGone = true;
      shared->changed.notify_all();
    }).detach();
  }
  if (shared->isEnded && shared->communicator)
    shared->changed.wait_until(lock, deadline, [&] { return shared->isGone; });
}

/// Joins or detaches the thread that destroys the communicator.
void NcclTransport::leaveEnder() {
  if (!ender.joinable())
    return;
  std::unique_lock<std::mutex> lock(shared->mutex);
  bool isGone = shared->isGone;
  lock.unlock();
  if (isGone)
    ender.join();
  else
    ender.detach();
}

//===----------------------------------------------------------------------===//
// Watchdog
//===----------------------------------------------------------------------===//

void NcclTransport::stop() {
  if (!cannotOpen)
    peers.stop();
  ender = std::thread([shared = shared, library = library] {
    // A call that waits for a peer returns when the communicator is aborted.
    std::unique_lock<std::mutex> lock(shared->mutex, std::defer_lock);
    auto begin = Clock::now();
    while (!lock.try_lock() && Clock::now() - begin < kPatience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bool isMine = !shared->isEnded && !isExiting;
    nccl::Communicator ended = isMine ? shared->communicator : nullptr;
    if (isMine)
      shared->isEnded = true;
    if (lock)
      lock.unlock();
    if (ended)
      library->commAbort(ended);
    lock.lock();
    shared->isGone |= bool(ended);
    shared->changed.notify_all();
  });
}

/// Returns the position of the GPU instead of the host, which runs ahead.
Place NcclTransport::getPlace() {
  Place gpu = progress.getPlace(), host = links.getPlace();
  if (gpu.isRunning || (!host.isRunning && gpu.operation.sequence))
    return gpu;
  return host;
}

void NcclTransport::look() {
  Control &control = links.control;
  std::optional<Stall> running;
  if (!cannotOpen)
    running = progress.look();
  if (running) {
    bool isAlone = false;
    for (int i = 0; i < control.size; ++i)
      isAlone |= i != control.rank && control.isGone(i);
    auto limit = control.timeout;
    // A rank that has left sends nothing more.
    if (isAlone)
      limit = std::min<Clock::duration>(limit, std::chrono::seconds(1));
    if (Clock::now() - running->begin > limit)
      control.stalls(*running);
    if (int other = peers.getDifferent(); other >= 0)
      control.find({MX_ERROR_MISMATCH, other, control.rank,
                    running->operation.step, 0, running->operation.entry,
                    beginMessage(control.name) + "the ranks differ: rank " +
                        std::to_string(control.rank) + " is at " +
                        running->operation.describe() + ", rank " +
                        std::to_string(other) +
                        " has another collective, size or offset in windows"});
  }
  std::unique_lock<std::mutex> lock(shared->mutex, std::try_to_lock);
  nccl::Result result = nccl::kSuccess;
  if (isExiting || !lock || !shared->communicator || shared->isEnded ||
      library->commGetAsyncError(shared->communicator, &result) ||
      result == nccl::kSuccess)
    return;
  Error error = library->error("a collective", result, shared->communicator);
  Place place = getPlace();
  control.find({error.status, -1, control.rank, place.operation.step, 0,
                place.operation.entry,
                beginMessage(control.name) + "rank " +
                    std::to_string(control.rank) + place.describe() + ": " +
                    error.text});
}

std::unique_ptr<Transport>
mx::runtime::makeNcclTransport(Links &links, std::string_view wanted) {
  return std::make_unique<NcclTransport>(links, wanted);
}
