//===- Workers.h - Thread pool for clusters ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a function for each index from 0 to n-1, on a few threads that live as
// long as a launch. Exceptions, thrown if memory is short, propagate to the
// caller.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_WORKERS_H
#define MXSIM_LIB_MACHINE_WORKERS_H

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mx::sim {

class Workers {
public:
  /// Limit on the number of threads. No host has more cores, and every host can
  /// create this many threads.
  static constexpr unsigned kMax = 256;
  /// Uses `count` threads including the caller; 0 selects the host's core
  /// count.
  explicit Workers(unsigned count) {
    if (!count)
      count = std::max(1u, std::thread::hardware_concurrency());
    limit = std::min(count, kMax);
  }
  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isDone = true;
    }
    start.notify_all();
    for (std::thread &t : threads)
      t.join();
  }

  /// Returns after all calls have returned.
  void forEach(size_t n, const std::function<void(size_t)> &fn) {
    if (n <= 1 || limit <= 1) {
      for (size_t k = 0; k < n; ++k)
        fn(k);
      return;
    }
    // Create threads on demand.
    while (threads.size() + 1 < limit && addThread())
      ;
    {
      std::lock_guard<std::mutex> lock(mutex);
      task = &fn;
      size = n;
      next = 0;
      running = threads.size();
      ++generation;
    }
    start.notify_all();
    take();
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, [&] { return !running; });
    task = nullptr;
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
  }

private:
  /// Creates a thread. If the host is out of threads, continues with the
  /// existing threads.
  bool addThread() {
    try {
      threads.emplace_back([this] { work(); });
      return true;
    } catch (const std::system_error &) {
      limit = unsigned(threads.size()) + 1;
      return false;
    }
  }
  /// Runs calls until none are left. After an exception, the other threads
  /// finish their current call and start no new call.
  void take() {
    try {
      for (size_t k = next++; k < size; k = next++)
        (*task)(k);
    } catch (...) {
      next = size;
      std::lock_guard<std::mutex> lock(mutex);
      thrown = std::current_exception();
    }
  }
  void work() {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      start.wait(lock, [&] { return isDone || generation != seen; });
      if (isDone)
        return;
      seen = generation;
      lock.unlock();
      take();
      lock.lock();
      if (!--running)
        finished.notify_one();
    }
  }

  unsigned limit;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable start, finished;
  const std::function<void(size_t)> *task = nullptr;
  size_t size = 0, running = 0;
  std::atomic<size_t> next{0};
  std::exception_ptr thrown;
  uint64_t generation = 0;
  bool isDone = false;
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_WORKERS_H
