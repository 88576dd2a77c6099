//===- Control.cpp - Agreement of ranks on a failure ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Control.h"

#include "mxsim/io/Printable.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace mx::runtime;

namespace {

struct MessageHeader {
  uint32_t kind, bytes;
};
constexpr uint32_t kMostMessageBytes = 1 << 16;
/// Largest size of an error text in bytes, because simulator reports may not
/// fit in a message.
constexpr size_t kMostText = 1 << 13;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

/// Returns the time to wait for failures found by other ranks. A rank sends
/// failures at once unless the process is stopped.
static Clock::duration getAgreementTime(Clock::duration timeout) {
  return std::clamp<Clock::duration>(timeout / 8, std::chrono::milliseconds(10),
                                     std::chrono::milliseconds(500));
}

Error Control::start(std::vector<Socket> connections, Watcher &watching) {
  int reason = 0;
  auto open = [&] {
    int number = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reason = number < 0 ? errno : reason;
    return number;
  };
  news = Socket::make(open);
  failed = Socket::make(open);
  if (!news || !failed)
    return {MX_ERROR_OUT_OF_MEMORY,
            beginMessage(name) +
                "cannot create an eventfd: " + strerror(reason)};
  watcher = &watching;
  gone = std::vector<std::atomic<bool>>(size_t(size));
  peers.resize(size_t(size));
  for (size_t i = 0; i < connections.size(); ++i)
    peers[i].socket = std::move(connections[i]);
  nextLook = Clock::now() + watcher->getPeriod();
  thread = std::thread([this] { run(); });
  return {};
}

void Control::wake() {
  uint64_t one = 1;
  // A failed write is harmless: the event is readable already.
  [[maybe_unused]] ssize_t ignored = write(news.get(), &one, sizeof(one));
}

void Control::finish() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isFinished = true;
  }
  wake();
  thread.join();
  for (Peer &peer : peers)
    peer.socket.close();
}

//===----------------------------------------------------------------------===//
// Calls from other threads
//===----------------------------------------------------------------------===//

Error Control::getStatus() const {
  const Failure *failure = getFailure();
  return failure ? Error(failure->status, failure->text) : Error();
}

void Control::find(Failure failure) {
  failure.text = mx::printable(failure.text);
  if (failure.text.size() > kMostText)
    failure.text = failure.text.substr(0, kMostText) + "...";
  {
    std::lock_guard<std::mutex> lock(mutex);
    found.push_back(std::move(failure));
  }
  wake();
}

void Control::giveUp() {
  isSpent = true;
  wake();
  std::unique_lock<std::mutex> lock(mutex);
  agreed.wait(lock, [&] { return published.load() || isFinished; });
}

void Control::stalls(Stall stall) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stalled = std::move(stall);
  }
  wake();
}

Error Control::await() {
  std::unique_lock<std::mutex> lock(mutex);
  agreed.wait(lock, [&] { return published.load() || isFinished; });
  lock.unlock();
  return getStatus();
}

//===----------------------------------------------------------------------===//
// Watchdog
//===----------------------------------------------------------------------===//

void Control::run() {
  try {
    watch();
    send(Goodbye);
  } catch (const std::exception &) {
    collapse();
  }
}

/// Ends the group if there is no memory for a message. Other ranks detect that
/// the connections are closed.
void Control::collapse() {
  for (Peer &peer : peers)
    if (peer.socket)
      shutdown(peer.socket.get(), SHUT_RDWR);
  try {
    watcher->stop();
  } catch (const std::exception &) {
    // Work on a GPU ends when NCCL's connections close.
  }
  if (published.load())
    return;
  candidate = Failure();
  candidate->status = MX_ERROR_OUT_OF_MEMORY;
  candidate->rank = candidate->finder = rank;
  // Short enough for the string's inline buffer.
  candidate->text = "out of memory";
  publish();
}

void Control::watch() {
  for (;;) {
    waitForNews();
    if (isSpent)
      return collapse();
    if (!candidate && Clock::now() >= nextLook) {
      watcher->look();
      nextLook = Clock::now() + watcher->getPeriod();
    }
    takeFound();
    inquire();
    if (candidate && !published.load() &&
        (isAgreed() || Clock::now() >= agreedBy))
      publish();
    std::lock_guard<std::mutex> lock(mutex);
    // A failure found by this rank is sent before the goodbye.
    if (isFinished && found.empty() && (!candidate || published.load()))
      return;
  }
}

void Control::waitForNews() {
  std::vector<pollfd> waiting = {{news.get(), POLLIN, 0}};
  std::vector<int> numbers = {-1};
  for (int i = 0; i < size; ++i)
    if (peers[size_t(i)].socket) {
      waiting.push_back({peers[size_t(i)].socket.get(), POLLIN, 0});
      numbers.push_back(i);
    }
  Deadline until = nextLook;
  if (candidate)
    until = published.load() ? Clock::now() + std::chrono::hours(1) : agreedBy;
  else if (inquiry)
    until = std::min(until, answeredBy);
  waitFor(waiting, until);
  uint64_t count;
  if (waiting[0].revents) [[maybe_unused]]
    ssize_t ignored = read(news.get(), &count, sizeof(count));
  for (size_t i = 1; i < waiting.size(); ++i)
    if (waiting[i].revents)
      readFrom(numbers[i]);
}

void Control::send(Message kind, std::string_view bytes) {
  for (Peer &peer : peers)
    if (peer.socket)
      sendTo(peer, kind, bytes);
}

void Control::sendTo(Peer &peer, Message kind, std::string_view bytes) {
  MessageHeader header = {kind, uint32_t(bytes.size())};
  std::string message(reinterpret_cast<char *>(&header), sizeof(header));
  message += bytes;
  // Messages are few and short, so they fit in the buffer of a peer that reads
  // nothing. The peer cannot parse anything after a partial message.
  size_t sent = sendSome(peer.socket, message.data(), message.size()).bytes;
  if (sent && sent < message.size())
    shutdown(peer.socket.get(), SHUT_WR);
}

void Control::readFrom(int number) {
  Peer &peer = peers[size_t(number)];
  char bytes[4096];
  for (;;) {
    Moved moved = receiveSome(peer.socket, bytes, sizeof(bytes));
    peer.received.append(bytes, moved.bytes);
    // Handle the messages received before the connection closed.
    if (!takeMessages(number) || moved.isClosed)
      return lose(number);
    if (moved.bytes == 0)
      return;
  }
}

bool Control::takeMessages(int number) {
  std::string &received = peers[size_t(number)].received;
  MessageHeader header;
  while (received.size() >= sizeof(header)) {
    memcpy(&header, received.data(), sizeof(header));
    if (header.bytes > kMostMessageBytes)
      return false;
    if (received.size() < sizeof(header) + header.bytes)
      break;
    std::string bytes = received.substr(sizeof(header), header.bytes);
    received.erase(0, sizeof(header) + header.bytes);
    handle(number, header.kind, bytes);
  }
  return true;
}

void Control::handle(int number, uint32_t kind, std::string_view bytes) {
  Peer &peer = peers[size_t(number)];
  Failure failure;
  switch (kind) {
  case Abort:
    if (!Failure::parse(bytes, failure))
      return;
    peer.told = failure;
    return consider(std::move(failure));
  case Goodbye:
    peer.saidGoodbye = true;
    return;
  case Question:
    return sendTo(peer, Answer, watcher->getPlace().serialize());
  case Answer:
    if (Place place; inquiry && Place::parse(bytes, place))
      inquiry->hear(number, std::move(place));
    return;
  }
}

void Control::lose(int number) {
  Peer &peer = peers[size_t(number)];
  peer.socket.close();
  gone[size_t(number)] = true;
  // A peer that said goodbye needs nothing more.
  if (peer.saidGoodbye)
    return;
  Place place = watcher->getPlace();
  const Operation &operation = place.operation;
  originate({MX_ERROR_PEER, number, rank, operation.step, 0, operation.entry,
             beginMessage(name) + "rank " + std::to_string(number) + " left" +
                 place.describe() +
                 ": its process or its connection has ended"});
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

void Control::takeFound() {
  std::vector<Failure> taken;
  {
    std::lock_guard<std::mutex> lock(mutex);
    taken.swap(found);
  }
  for (Failure &failure : taken)
    originate(std::move(failure));
}

/// Queries the positions of the other ranks once after a stall.
void Control::inquire() {
  std::optional<Stall> stall;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stall.swap(stalled);
  }
  if (candidate)
    return;
  if (stall && !inquiry) {
    inquiry.emplace(name, rank, size, *std::move(stall));
    answeredBy = Clock::now() + getAgreementTime(timeout);
    send(Question);
  }
  if (!inquiry)
    return;
  std::vector<bool> isGone(gone.begin(), gone.end());
  bool isComplete = true;
  for (int i = 0; i < size; ++i)
    isComplete &= i == rank || isGone[size_t(i)] || inquiry->hasHeard(i);
  if (!isComplete && Clock::now() < answeredBy)
    return;
  originate(inquiry->judge(isGone));
}

/// Proposes a failure found by this rank unless a failure is already known. A
/// rank that agreed to another rank's failure never proposes an earlier
/// failure.
void Control::originate(Failure failure) {
  if (candidate)
    return;
  failure.finder = rank;
  failure.time = now();
  consider(std::move(failure));
}

void Control::consider(Failure failure) {
  bool isFirst = !candidate;
  if (published.load() || (!isFirst && !failure.isBefore(*candidate)))
    return;
  candidate = std::move(failure);
  send(Abort, candidate->serialize());
  if (!isFirst)
    return;
  agreedBy = Clock::now() + getAgreementTime(timeout);
  watcher->stop();
}

/// Returns true if every remaining rank reported the same failure.
bool Control::isAgreed() const {
  return std::all_of(peers.begin(), peers.end(), [&](const Peer &peer) {
    return !peer.socket || peer.saidGoodbye ||
           (peer.told && peer.told->isSame(*candidate));
  });
}

void Control::publish() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    result = *candidate;
    published = &result;
  }
  uint64_t one = 1;
  [[maybe_unused]] ssize_t ignored = write(failed.get(), &one, sizeof(one));
  agreed.notify_all();
}
