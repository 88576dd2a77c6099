//===- SystemCalls.cpp - Functions of the device runtime ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements vprintf, __assertfail, malloc and free. Output of clusters is
// printed between passes, and heap operations need the turn. So neither the
// output nor the addresses depend on the number of host threads.
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include "../machine/Lanes.h"
#include "MemoryAccess.h"

#include <algorithm>
#include <cstdio>
#include <string>

using namespace mx::sim;
using ptx::Space;

namespace {

/// Limit on the length of a string. A longer string probably lacks its
/// terminator.
constexpr size_t kMaxText = 1 << 16;
/// Limit on the field width, since PTX is untrusted.
constexpr int kMaxWidth = 1 << 12;

class Call {
public:
  Call(Warp &w, const Instr *i, unsigned lane) : w(w), i(i), lane(lane) {}

  template <class T>
  bool read(Space space, uint64_t address, T &value) {
    const uint8_t *p =
        resolveAddress(w, i, space, address, sizeof(T), lane, false);
    if (p)
      std::memcpy(&value, p, sizeof(T));
    return p != nullptr;
  }
  template <class T>
  bool argument(unsigned k, T &value) {
    return read(Space::Param, place(k), value);
  }
  template <class T>
  bool setResult(unsigned k, T value) {
    uint8_t *p =
        resolveAddress(w, i, Space::Param, place(k), sizeof value, lane, true);
    if (p)
      std::memcpy(p, &value, sizeof value);
    return p != nullptr;
  }
  /// Reads the string at a generic address. Returns false after a finding.
  bool text(uint64_t address, std::string &out) {
    for (out.clear(); out.size() < kMaxText; ++address) {
      char c = 0;
      if (!read(Space::Generic, address, c))
        return false;
      if (!c)
        return true;
      out += c;
    }
    w.fail(i, FindingKind::OutOfBounds,
           "expected a string that ends within " + std::to_string(kMaxText) +
               " bytes",
           1u << lane);
    return false;
  }

private:
  /// Returns the parameter-space address of argument or result k.
  uint64_t place(unsigned k) {
    return w.at<uint64_t>(w.machine->program.extra[i->aux + k])[lane];
  }

  Warp &w;
  const Instr *i;
  unsigned lane;
};

/// Formats the output of vprintf. The arguments are consecutive in memory, and
/// each is aligned to its size.
class Formatter {
public:
  Formatter(Call &call, std::string format, uint64_t arguments)
      : call(call), format(std::move(format)), arguments(arguments) {}

  bool run(std::string &out) {
    while (at < format.size()) {
      if (format[at] != '%') {
        out += format[at++];
        continue;
      }
      if (!conversion(out))
        return false;
    }
    return true;
  }
  int count() const { return read; }

private:
  template <class T>
  bool next(T &value) {
    arguments = (arguments + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    if (!call.read(Space::Generic, arguments, value))
      return false;
    arguments += sizeof(T);
    ++read;
    return true;
  }
  /// Parses a number, or reads the next argument for '*'.
  bool number(int &value) {
    if (at < format.size() && format[at] == '*') {
      ++at;
      return next(value);
    }
    for (; at < format.size() && isdigit((unsigned char)format[at]); ++at)
      value = std::min(value * 10 + (format[at] - '0'), kMaxWidth);
    return true;
  }
  template <class T>
  bool print(std::string &out, std::string spec, int width, int precision,
             const char *length, char conversion, T value) {
    width = std::clamp(width, -kMaxWidth, kMaxWidth);
    precision = std::clamp(precision, -1, kMaxWidth);
    // A negative precision is ignored (C11, 7.21.6.1).
    spec += "*.*";
    spec += length;
    spec += conversion;
    int size = std::snprintf(nullptr, 0, spec.c_str(), width, precision, value);
    if (size < 0)
      return true;
    std::string text(size + 1, '\0');
    std::snprintf(text.data(), text.size(), spec.c_str(), width, precision,
                  value);
    out.append(text, 0, size);
    return true;
  }

  bool conversion(std::string &out) {
    size_t begin = at++;
    std::string spec = "%";
    while (at < format.size() && std::strchr("-+ #0", format[at]))
      spec += format[at++];
    int width = 0, precision = -1;
    if (!number(width))
      return false;
    if (at < format.size() && format[at] == '.') {
      ++at;
      precision = 0;
      if (!number(precision))
        return false;
    }
    bool isLong = false;
    for (; at < format.size() && std::strchr("hlLqjzt", format[at]); ++at)
      isLong |= format[at] != 'h' && format[at] != 'L';
    char c = at < format.size() ? format[at++] : '\0';
    switch (c) {
    case '%':
      out += '%';
      return true;
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'c': {
      long long wide = 0;
      int narrow = 0;
      if (isLong && c != 'c')
        return next(wide) && print(out, spec, width, precision, "ll", c, wide);
      return next(narrow) && print(out, spec, width, precision, "", c, narrow);
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
      double value = 0;
      return next(value) && print(out, spec, width, precision, "", c, value);
    }
    case 'p': {
      void *value = nullptr;
      return next(value) && print(out, spec, width, -1, "", c, value);
    }
    case 's': {
      uint64_t address = 0;
      std::string text;
      return next(address) && call.text(address, text) &&
             print(out, spec, width, precision, "", c, text.c_str());
    }
    default: // copy verbatim
      out.append(format, begin, at - begin);
      return true;
    }
  }

  Call &call;
  std::string format;
  uint64_t arguments;
  size_t at = 0;
  int read = 0;
};

const Instr *vprintf(Warp &w, const Instr *i, uint32_t mask) {
  std::string out;
  bool good = true;
  forLanes(mask, [&](unsigned lane) {
    if (!good)
      return;
    Call call(w, i, lane);
    uint64_t address = 0, arguments = 0;
    std::string format;
    good = call.argument(0, address) && call.argument(1, arguments) &&
           call.text(address, format);
    if (!good)
      return;
    Formatter formatter(call, std::move(format), arguments);
    good = formatter.run(out) && call.setResult(2, formatter.count());
  });
  w.cta->cluster->output += out;
  return good ? i + 1 : nullptr;
}

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return "[" + std::to_string(x) + "," + std::to_string(y) + "," +
         std::to_string(z) + "]";
}

/// Prints an assertion message for each thread in the format of the CUDA
/// runtime, then ends the launch.
const Instr *assertFail(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.takeTurn(i))
    return nullptr;
  std::string out, first;
  bool good = true;
  forLanes(mask, [&](unsigned lane) {
    if (!good)
      return;
    Call call(w, i, lane);
    uint64_t where[3] = {};
    uint32_t line = 0;
    std::string message, file, function;
    good = call.argument(0, where[0]) && call.argument(1, where[1]) &&
           call.argument(2, line) && call.argument(3, where[2]) &&
           call.text(where[0], message) && call.text(where[1], file) &&
           call.text(where[2], function);
    if (!good)
      return;
    const Dim3 &id = w.cta->id, &block = w.machine->config.block;
    uint32_t thread = w.index * 32 + lane;
    out += file + ":" + std::to_string(line) + ": " + function +
           ": block: " + triple(id.x, id.y, id.z) + ", thread: " +
           triple(thread % block.x, thread / block.x % block.y,
                  thread / block.x / block.y) +
           " Assertion `" + message + "` failed.\n";
    if (first.empty())
      first = "assertion '" + message + "' failed at " + file + ":" +
              std::to_string(line);
  });
  std::fwrite(out.data(), 1, out.size(), stderr);
  return good ? w.fail(i, FindingKind::Trap, first, mask) : nullptr;
}

/// Header of a heap block. The heap is a sequence of blocks in a variable of
/// the module. `Heap::allocate` merges adjacent free blocks and takes the first
/// block that is large enough.
struct BlockHeader {
  /// Size of the block, a multiple of 16; 0 if the block extends to the end.
  uint64_t bytes = 0;
  uint64_t isUsed = 0;
};
constexpr uint64_t kUsed = 0x6d616c6c6f636564ull;

class Heap {
public:
  explicit Heap(Warp &w) {
    for (const ptx::Module *m : w.machine->module.linked)
      for (const ptx::Variable *v : m->globals)
        if (!memory && v->placed && v->name == ptx::kHeapName) {
          base = v->address;
          memory = static_cast<uint8_t *>(
              w.machine->memory.translate(base, ptx::kHeapBytes));
        }
  }
  /// Returns 0 if the heap is full, like malloc in CUDA.
  uint64_t allocate(uint64_t bytes) {
    if (!memory || !bytes || bytes > ptx::kHeapBytes)
      return 0;
    bytes = (bytes + 15) & ~15ull;
    for (uint64_t at = 0; at + sizeof(BlockHeader) <= ptx::kHeapBytes;) {
      BlockHeader h = header(at);
      uint64_t most = ptx::kHeapBytes - at - sizeof h;
      if (!h.isUsed) {
        // Merge the free blocks that follow.
        while (h.bytes && h.bytes < most) {
          BlockHeader next = header(at + sizeof h + h.bytes);
          if (next.isUsed)
            break;
          h.bytes = next.bytes ? h.bytes + sizeof h + next.bytes : 0;
        }
        uint64_t room = h.bytes ? h.bytes : most;
        if (bytes <= room) {
          bool splits = !h.bytes || room - bytes >= 2 * sizeof h;
          if (splits && at + 2 * sizeof h + bytes <= ptx::kHeapBytes)
            setHeader(at + sizeof h + bytes,
                      {h.bytes ? room - bytes - sizeof h : 0, 0});
          setHeader(at, {splits ? bytes : room, kUsed});
          return base + at + sizeof h;
        }
        setHeader(at, h);
        if (!h.bytes)
          return 0;
      }
      at += sizeof h + h.bytes;
    }
    return 0;
  }
  /// Returns false unless `address` is a block in use.
  bool free(uint64_t address) {
    uint64_t wanted = address - base - sizeof(BlockHeader);
    if (!memory)
      return false;
    for (uint64_t at = 0; at + sizeof(BlockHeader) <= ptx::kHeapBytes;) {
      BlockHeader h = header(at);
      if (at == wanted) {
        if (h.isUsed != kUsed)
          return false;
        setHeader(at, {h.bytes, 0});
        return true;
      }
      if (!h.bytes || at > wanted)
        return false;
      at += sizeof h + h.bytes;
    }
    return false;
  }

private:
  /// Reads a header. If a kernel overwrote it, returns a used block up to the
  /// end of the heap.
  BlockHeader header(uint64_t at) const {
    BlockHeader h;
    uint64_t most = ptx::kHeapBytes - sizeof h;
    if (at > most)
      return {0, kUsed};
    std::memcpy(&h, memory + at, sizeof h);
    if (h.bytes > most - at || h.bytes % 16 || (h.isUsed && h.isUsed != kUsed))
      return {most - at, kUsed};
    return h;
  }
  void setHeader(uint64_t at, BlockHeader h) {
    std::memcpy(memory + at, &h, sizeof h);
  }

  uint64_t base = 0;
  uint8_t *memory = nullptr;
};

const Instr *allocate(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.takeTurn(i))
    return nullptr;
  // The memory may be a block that another lane has freed.
  if (Order *order = w.order())
    order->orderLanes(w);
  Heap heap(w);
  bool good = true;
  forLanes(mask, [&](unsigned lane) {
    Call call(w, i, lane);
    uint64_t bytes = 0;
    good = good && call.argument(0, bytes) &&
           call.setResult(1, heap.allocate(bytes));
  });
  return good ? i + 1 : nullptr;
}

const Instr *release(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.takeTurn(i))
    return nullptr;
  Heap heap(w);
  const Instr *next = i + 1;
  forLanes(mask, [&](unsigned lane) {
    uint64_t address = 0;
    if (!next || !Call(w, i, lane).argument(0, address)) {
      next = nullptr;
      return;
    }
    char text[96];
    if (address && !heap.free(address)) {
      std::snprintf(text, sizeof text,
                    "free of 0x%llx, which malloc has not returned",
                    (unsigned long long)address);
      next = w.fail(i, FindingKind::IllegalInstruction, text, 1u << lane);
    }
  });
  return next;
}

constexpr SystemCall kSystemCalls[] = {
    {"malloc", 1, true, allocate},
    {"free", 1, false, release},
    {"vprintf", 2, true, vprintf},
    {"__assertfail", 5, false, assertFail},
};

} // namespace

const SystemCall *mx::sim::findSystemCall(std::string_view name) {
  for (const SystemCall &call : kSystemCalls)
    if (call.name == name)
      return &call;
  return nullptr;
}
