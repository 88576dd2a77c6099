//===- TunedTable.cpp - JSON file of tuned schedules ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing is strict, because a schedule from a damaged file would make a
// program slow without an explanation.
//===----------------------------------------------------------------------===//

#include "mlir/Support/FileUtilities.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Json.h"
#include "mxsim/io/JsonWriter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <tuple>

using namespace mx::mxgpu;
using llvm::StringRef;

static constexpr StringRef kTableFormat = "mx-tuned-schedules";
static constexpr int64_t kTableVersion = 2;

bool TunedKey::operator==(const TunedKey &other) const {
  return std::tie(chip, gpu, compiler, matmul) ==
         std::tie(other.chip, other.gpu, other.compiler, other.matmul);
}

std::string TunedEntry::describe() const {
  std::string text = llvm::formatv(
      "{0} {1} on {2}",
      StringRef(key.gpu).starts_with(kModelOf) ? "modelled" : "measured", date,
      key.gpu);
  if (sizes.size() != 1)
    return text;
  for (const TimedSchedule &one : sizes.front().candidates)
    if (one.schedule == schedule)
      text += llvm::formatv(": {0:f2} us", one.microseconds);
  const TimedSchedule &first = sizes.front().candidates.front();
  if (first.schedule != schedule && first.microseconds > 0)
    text += llvm::formatv(", the model's choice {0:f2} us", first.microseconds);
  return text;
}

void TunedTable::put(TunedEntry entry) {
  for (TunedEntry &other : entries)
    if (other.key == entry.key) {
      other = std::move(entry);
      return;
    }
  entries.push_back(std::move(entry));
}

const TunedEntry *TunedTable::find(const TunedKey &key) const {
  for (const TunedEntry &entry : entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// JSON conversion
//===----------------------------------------------------------------------===//

// Reading and writing share a visitor for each struct.

namespace mx::mxgpu {

template <typename Visitor>
static void visit(TunedKey &key, Visitor &visitor) {
  visitor("chip", key.chip);
  visitor("gpu", key.gpu);
  visitor("compiler", key.compiler);
  visitor("matmul", key.matmul);
}
template <typename Visitor>
static void visit(TimedSchedule &timed, Visitor &visitor) {
  visitor("schedule", timed.schedule);
  visitor("microseconds", timed.microseconds);
  visitor("left_out", timed.leftOut);
}
template <typename Visitor>
static void visit(TunedSizes &sizes, Visitor &visitor) {
  visitor("m", sizes.m);
  visitor("n", sizes.n);
  visitor("k", sizes.k);
  visitor("groups", sizes.groups);
  visitor("candidates", sizes.candidates);
}
template <typename Visitor>
static void visit(TunedEntry &entry, Visitor &visitor) {
  visitor("key", entry.key);
  visitor("schedule", entry.schedule);
  visitor("date", entry.date);
  visitor("asked", entry.count);
  visitor("rows", entry.rows);
  visitor("sizes", entry.sizes);
}

namespace {

class Reader {
public:
  explicit Reader(const mx::JsonReader &object) : object(object) {}

  template <typename T>
  void operator()(const char *name, T &value) {
    read(object[name], value);
  }

private:
  static void read(const mx::JsonReader &found, std::string &value) {
    value = found.string();
  }
  static void read(const mx::JsonReader &found, int64_t &value) {
    value = found.integer(0, std::numeric_limits<int64_t>::max());
  }
  static void read(const mx::JsonReader &found, double &value) {
    value = found.number();
  }
  template <typename T>
  static void read(const mx::JsonReader &found, std::vector<T> &values) {
    found.elements([&](const mx::JsonReader &element) {
      read(element, values.emplace_back());
    });
  }
  template <typename T>
  static void read(const mx::JsonReader &found, T &value) {
    Reader reader(found);
    visit(value, reader);
  }

  const mx::JsonReader &object;
};

class Writer {
public:
  explicit Writer(mx::JsonWriter &json) : json(json) {}

  template <typename T>
  void operator()(const char *name, T &value) {
    json.key(name);
    write(value);
  }

private:
  void write(std::string &value) { json.value(value); }
  void write(int64_t &value) { json.value(value); }
  void write(double &value) { json.value(value); }
  template <typename T>
  void write(std::vector<T> &values) {
    json.beginArray();
    for (T &value : values)
      write(value);
    json.endArray();
  }
  template <typename T>
  void write(T &value) {
    json.object([&] { visit(value, *this); });
  }

  mx::JsonWriter &json;
};

} // namespace

} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static llvm::Error refuseTable(const std::string &path,
                               const llvm::Twine &found) {
  return llvm::createStringError(
      path + ": expected a table of tuned schedules (" + kTableFormat +
      ", version " + llvm::Twine(kTableVersion) + "), found " + found +
      ": name another file, or delete it and tune again");
}

/// Returns true if brackets are nested too deep for recursive parsers. Brackets
/// in strings count, because schedule strings are parsed later.
static bool isTooDeep(llvm::StringRef text) {
  constexpr int64_t kMostDepth = 200;
  int64_t depth = 0;
  for (char c : text) {
    if (llvm::StringRef("[{(<").contains(c))
      ++depth;
    else if (llvm::StringRef("]})>").contains(c))
      --depth;
    if (depth > kMostDepth)
      return true;
  }
  return false;
}

llvm::Expected<TunedTable> TunedTable::read(const std::string &path,
                                            bool replacesOld) {
  if (std::string why = checkInputFile(path); !why.empty())
    return llvm::createStringError(why);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError(
        path + ": cannot read: " + file.getError().message());
  if (isTooDeep((*file)->getBuffer()))
    return refuseTable(path, "brackets nested more than 200 deep");
  mx::Json value;
  if (std::string why = mx::parseJson((*file)->getBuffer(), value);
      !why.empty())
    return refuseTable(path, "invalid JSON (" + why + ")");
  std::string error;
  mx::JsonReader reader(value, "", error);
  if (!value.find("format") || reader["format"].string() != kTableFormat)
    return refuseTable(path, "JSON in another format");
  if (!value.find("version"))
    return refuseTable(path, "no version");
  int64_t version =
      reader["version"].integer(0, std::numeric_limits<int64_t>::max());
  if (!error.empty())
    return refuseTable(path, error);
  if (version != kTableVersion && replacesOld)
    return TunedTable();
  if (version != kTableVersion)
    return refuseTable(path, "version " + llvm::Twine(version));
  TunedTable table;
  reader["entries"].elements([&](const mx::JsonReader &element) {
    Reader entry(element);
    visit(table.entries.emplace_back(), entry);
  });
  if (!error.empty())
    return refuseTable(path, "a malformed entry (" + error + ")");
  for (const TunedEntry &entry : table.entries)
    for (const TunedSizes &sizes : entry.sizes)
      if (sizes.candidates.empty())
        return refuseTable(path, "sizes without candidates");
  return table;
}

llvm::Error TunedTable::write(const std::string &path) const {
  mx::JsonWriter json;
  json.object([&] {
    json.member("format", kTableFormat.str());
    json.member("version", kTableVersion);
    Writer writer(json);
    std::vector<TunedEntry> written = entries;
    writer("entries", written);
  });
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    stream << json.text << "\n";
    return llvm::Error::success();
  });
  if (error)
    return llvm::createStringError(
        path + ": cannot write: " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}
