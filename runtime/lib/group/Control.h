//===- Control.h - Agreement of ranks on a failure --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On each rank of a group, a watchdog thread reads one connection to every
// peer. When a process ends, the system closes all connections, so the peers
// notice at once. A rank sends its failures to all others, and the earliest
// failure becomes the failure of the group. Ranks wait briefly for this
// agreement, so all of them name the same culprit.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_CONTROL_H
#define MX_RUNTIME_LIB_GROUP_CONTROL_H

#include "Inquiry.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace mx::runtime {

class Control {
public:
  /// Callbacks on the watchdog thread. They must not wait.
  class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual Place getPlace() = 0;
    /// Called on failure to end the running operation.
    virtual void stop() {}
    /// Called every getPeriod() while the group works; may call find() and
    /// stalls().
    virtual void look() {}
    virtual Clock::duration getPeriod() { return std::chrono::hours(1); }
  };

  Control(const std::string &name, int rank, int size, Clock::duration timeout)
      : name(name), rank(rank), size(size), timeout(timeout) {}
  ~Control() { finish(); }
  Error start(std::vector<Socket> connections, Watcher &watcher);
  /// Sends goodbye and ends the thread.
  void finish();

  /// Returns the failure of the group, or null while it works. Does not wait;
  /// the result never changes once set.
  const Failure *getFailure() const { return published.load(); }
  Error getStatus() const;
  /// Returns a descriptor. On failure, the descriptor becomes readable.
  int getEvent() const { return failed.get(); }
  /// Reports a failure found by this rank.
  void find(Failure failure);
  /// Ends the connections if there is no memory for a report.
  void giveUp();
  /// Reports an overlong wait. The watchdog then queries the other ranks and
  /// reports a failure.
  void stalls(Stall stall);
  /// Returns the first failure after waiting for agreement.
  Error await();
  Error fail(Failure failure) {
    find(std::move(failure));
    return await();
  }
  /// Returns true if a rank left, with or without a goodbye.
  bool isGone(int peer) const { return gone[size_t(peer)]; }

  const std::string name;
  const int rank, size;
  const Clock::duration timeout;

private:
  enum Message : uint32_t { Abort = 1, Goodbye, Question, Answer };
  struct Peer {
    Socket socket;
    std::string received;
    /// Failure reported by the peer.
    std::optional<Failure> told;
    bool saidGoodbye = false;
  };

  void run();
  /// Runs the thread until the group is destroyed.
  void watch();
  void waitForNews();
  void send(Message kind, std::string_view bytes = {});
  void sendTo(Peer &peer, Message kind, std::string_view bytes);
  void readFrom(int number);
  /// Returns false for malformed messages.
  bool takeMessages(int number);
  void handle(int number, uint32_t kind, std::string_view bytes);
  void lose(int number);
  void originate(Failure failure);
  void consider(Failure failure);
  void takeFound();
  void inquire();
  bool isAgreed() const;
  void publish();
  void collapse();
  void wake();

  Watcher *watcher = nullptr;
  std::vector<Peer> peers;
  std::vector<std::atomic<bool>> gone;
  Socket news, failed;
  std::thread thread;
  Deadline nextLook;

  /// Watchdog state: the first failure so far, and the deadline for agreement.
  std::optional<Failure> candidate;
  Deadline agreedBy;
  std::optional<Inquiry> inquiry;
  Deadline answeredBy;

  std::mutex mutex;
  std::condition_variable agreed;
  /// Reports from other threads, not yet handled by the watchdog.
  std::vector<Failure> found;
  std::optional<Stall> stalled;
  bool isFinished = false;
  std::atomic<bool> isSpent = false;
  Failure result;
  std::atomic<const Failure *> published = nullptr;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_CONTROL_H
