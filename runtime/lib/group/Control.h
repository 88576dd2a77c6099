//===- Control.h - How ranks learn that a group has failed ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of each group, the watchdog, reads one connection to every peer. A
// peer whose process ends is seen at once, as its connections are closed by the
// system. The rank that finds a failure tells it to all others; what was found
// first becomes the failure of the group on every rank. A rank waits a moment
// for that agreement, so that one culprit is named everywhere.
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
  /// What the watchdog asks and tells; called in its thread, and must not wait.
  class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual Place getPlace() = 0;
    /// The group has failed: what is running has to end.
    virtual void stop() {}
    /// Every getPeriod(), while the group works: may call find() and stalls().
    virtual void look() {}
    virtual Clock::duration getPeriod() { return std::chrono::hours(1); }
  };

  Control(const std::string &name, int rank, int size, Clock::duration timeout)
      : name(name), rank(rank), size(size), timeout(timeout) {}
  ~Control() { finish(); }
  Error start(std::vector<Socket> connections, Watcher &watcher);
  /// Says goodbye and ends the thread.
  void finish();

  /// What the group has failed of. Does not wait; it never changes again, and
  /// null means that the group works.
  const Failure *getFailure() const { return published.load(); }
  Error getStatus() const;
  /// Readable from the moment of the failure.
  int getEvent() const { return failed.get(); }
  /// This rank has found a failure.
  void find(Failure failure);
  /// The same where no memory is left to say what: ends the connections.
  void giveUp();
  /// This rank has waited too long: asks the others, which leads to a failure.
  void stalls(Stall stall);
  /// Waits for the agreement on which failure was the first, and returns that.
  Error await();
  Error fail(Failure failure) {
    find(std::move(failure));
    return await();
  }
  /// That a rank is gone, of its own will or not.
  bool isGone(int peer) const { return gone[size_t(peer)]; }

  const std::string name;
  const int rank, size;
  const Clock::duration timeout;

private:
  enum Message : uint32_t { Abort = 1, Goodbye, Question, Answer };
  struct Peer {
    Socket socket;
    std::string received;
    /// What it has said that the group failed of.
    std::optional<Failure> told;
    bool saidGoodbye = false;
  };

  void run();
  /// Until the group is destroyed.
  void watch();
  void waitForNews();
  void send(Message kind, std::string_view bytes = {});
  void sendTo(Peer &peer, Message kind, std::string_view bytes);
  void readFrom(int number);
  /// False: what came is no message.
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

  /// Of the watchdog: the first failure so far, and until when others are
  /// waited for.
  std::optional<Failure> candidate;
  Deadline agreedBy;
  std::optional<Inquiry> inquiry;
  Deadline answeredBy;

  std::mutex mutex;
  std::condition_variable agreed;
  /// By other threads.
  std::vector<Failure> found;
  std::optional<Stall> stalled;
  bool isFinished = false;
  std::atomic<bool> isSpent = false;
  Failure result;
  std::atomic<const Failure *> published = nullptr;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_CONTROL_H
