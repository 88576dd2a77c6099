//===- JsonWriter.h - Incremental JSON output -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used for reports and manifests. The runtime also writes reports, so this file
// must not depend on LLVM.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_JSONWRITER_H
#define MXSIM_IO_JSONWRITER_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace mx {

class JsonWriter {
public:
  /// Indents as a value that deep in a document.
  explicit JsonWriter(unsigned depth = 0) : depth(depth) {}
  void beginObject() { begin('{'); }
  void endObject() { end('}'); }
  void beginArray() { begin('['); }
  void endArray() { end(']'); }
  /// Writes an array of scalars on one line.
  template <class T>
  void row(const T &values) {
    line([&] {
      beginArray();
      for (const auto &v : values)
        value(v);
      endArray();
    });
  }
  template <class T>
  void row(std::string_view name, const T &values) {
    key(name);
    row(values);
  }
  /// Writes an object with the members that `write` emits.
  template <class F>
  void object(F write) {
    beginObject();
    write();
    endObject();
  }
  template <class F>
  void object(std::string_view name, F write) {
    key(name);
    object(write);
  }
  /// Writes an array, calling `write` for each element.
  template <class T, class F>
  void list(std::string_view name, const T &elements, F write) {
    key(name);
    beginArray();
    for (const auto &element : elements)
      write(element);
    endArray();
  }
  /// Keeps all output of `write` on one line.
  template <class F>
  void line(F write) {
    separate();
    isBehindKey = true; // the separator is already written
    bool wasRow = isRow;
    isRow = true;
    write();
    isRow = wasRow;
  }
  /// Starts a member of the current object.
  void key(std::string_view name) {
    separate();
    quote(name);
    text += ": ";
    isBehindKey = true;
  }

  void value(uint64_t number) { put(std::to_string(number)); }
  void value(int64_t number) { put(std::to_string(number)); }
  void value(uint32_t number) { value(uint64_t(number)); }
  void value(int number) { value(int64_t(number)); }
  /// Writes six digits; infinities and NaN become null.
  void value(double number) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    put(std::isfinite(number) ? digits : "null");
  }
  /// `units` * 10^-digits, exactly.
  struct Decimal {
    uint64_t units;
    unsigned digits;
  };
  void value(Decimal number) {
    std::string all = std::to_string(number.units);
    all.insert(0,
               all.size() > number.digits ? 0 : number.digits + 1 - all.size(),
               '0');
    put(all.insert(all.size() - number.digits, "."));
  }
  void value(bool flag) { put(flag ? "true" : "false"); }
  void value(const char *words) { value(std::string_view(words)); }
  void value(const std::string &words) { value(std::string_view(words)); }
  /// Writes arbitrary bytes; invalid UTF-8 becomes the replacement character.
  void value(std::string_view words) {
    separate();
    quote(words);
  }

  template <class T>
  void member(std::string_view name, const T &v) {
    key(name);
    value(v);
  }

  std::string text;

  /// Writes JSON text.
  void put(const std::string &words) {
    separate();
    text += words;
  }

private:
  void begin(char c) {
    separate();
    text += c;
    ++depth;
    isFirst = true;
  }
  void end(char c) {
    --depth;
    if (!isFirst && !isRow)
      newLine();
    text += c;
    isFirst = false;
  }
  void newLine() { text.append("\n").append(2 * depth, ' '); }
  void separate();
  void quote(std::string_view words);

  unsigned depth;
  bool isFirst = true, isBehindKey = true, isRow = false;
};

} // namespace mx

#endif // MXSIM_IO_JSONWRITER_H
