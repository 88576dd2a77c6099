//===- HandleTableTest.cpp - Live, dead and foreign handles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/HandleTable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mx;

namespace {

using Handle = struct Opaque *;

TEST(HandleTable, FindsLiveObjects) {
  HandleTable<Handle, int> table(HandleKind::Module);
  Handle first = table.add(std::make_shared<int>(1));
  Handle second = table.add(std::make_shared<int>(2));
  ASSERT_NE(first, second);
  EXPECT_EQ(*table.find(first), 1);
  EXPECT_EQ(*table.find(second), 2);
  EXPECT_EQ(table.find(nullptr), nullptr);
  int local = 0;
  EXPECT_EQ(table.find(reinterpret_cast<Handle>(&local)), nullptr);
}

TEST(HandleTable, RefusesStaleHandlesOfReusedSlots) {
  HandleTable<Handle, int> table(HandleKind::Module);
  std::set<Handle> dead;
  for (int i = 0; i < 1000; ++i) {
    Handle handle = table.add(std::make_shared<int>(i));
    EXPECT_EQ(dead.count(handle), 0u);
    for (Handle gone : dead)
      ASSERT_EQ(table.find(gone), nullptr);
    EXPECT_EQ(*table.remove(handle), i);
    EXPECT_EQ(table.remove(handle), nullptr);
    dead.insert(handle);
  }
}

TEST(HandleTable, RefusesAnotherKind) {
  HandleTable<Handle, int> modules(HandleKind::Module);
  HandleTable<Handle, int> functions(HandleKind::Function);
  Handle module = modules.add(std::make_shared<int>(1));
  Handle function = functions.add(std::make_shared<int>(2));
  EXPECT_EQ(functions.find(module), nullptr);
  EXPECT_EQ(modules.remove(function), nullptr);
}

/// Threads look up objects that other threads destroy. An object stays alive
/// while a caller holds a reference to it.
TEST(HandleTable, KeepsFoundObjectsAlive) {
  struct Object {
    explicit Object(std::atomic<int> &alive) : alive(alive) { ++alive; }
    ~Object() {
      value = -1;
      --alive;
    }
    std::atomic<int> &alive;
    int value = 7;
  };
  std::atomic<int> alive = 0, wrong = 0;
  HandleTable<Handle, Object> table(HandleKind::Program);
  std::atomic<Handle> shared = table.add(std::make_shared<Object>(alive));
  std::atomic<bool> isOver = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      while (!isOver)
        if (std::shared_ptr<Object> object = table.find(shared))
          wrong += object->value != 7;
    });
  for (int i = 0; i < 2000; ++i) {
    Handle next = table.add(std::make_shared<Object>(alive));
    table.remove(shared.exchange(next));
  }
  isOver = true;
  for (std::thread &reader : readers)
    reader.join();
  table.remove(shared);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(alive, 0);
}

TEST(HandleTable, WorksInAChildForkedDuringACall) {
  HandleTable<Handle, int> table(HandleKind::Module);
  Handle handle = table.add(std::make_shared<int>(1));
  std::atomic<bool> isOver = false;
  std::thread caller([&] {
    while (!isOver)
      table.find(handle);
  });
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(table.find(handle) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  isOver = true;
  caller.join();
}

} // namespace
