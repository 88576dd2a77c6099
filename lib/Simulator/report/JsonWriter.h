//===- JsonWriter.h - text of JSON, piece by piece --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime writes reports as well and links nothing but the simulator.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_REPORT_JSONWRITER_H
#define MX_LIB_SIMULATOR_REPORT_JSONWRITER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mx::sim {

class JsonWriter {
public:
  void beginObject() { begin('{'); }
  void endObject() { end('}'); }
  void beginArray() { begin('['); }
  void endArray() { end(']'); }
  /// An array of numbers or words, on one line.
  template <class T>
  void row(const T &values) {
    beginArray();
    isRow = true;
    for (const auto &v : values)
      value(v);
    isFirst = true; // the bracket stays on the line
    endArray();
    isRow = false;
  }
  /// Of what is written next, in an object.
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
  void value(bool flag) { put(flag ? "true" : "false"); }
  void value(const char *words) { value(std::string_view(words)); }
  void value(const std::string &words) { value(std::string_view(words)); }
  /// Any bytes: what is no UTF-8 becomes the replacement character.
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

private:
  void begin(char c) {
    separate();
    text += c;
    ++depth;
    isFirst = true;
  }
  void end(char c) {
    --depth;
    if (!isFirst)
      newLine();
    text += c;
    isFirst = false;
  }
  void put(const std::string &words) {
    separate();
    text += words;
  }
  void newLine() { text.append("\n").append(2 * depth, ' '); }
  void separate();
  void quote(std::string_view words);

  unsigned depth = 0;
  bool isFirst = true, isBehindKey = false, isRow = false;
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_REPORT_JSONWRITER_H
