//===- Template.cpp - launch files to fill in -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PTX tells of a launch is written; what it does not tell is "?", which
// the reader of launch files asks for.
//===----------------------------------------------------------------------===//

#include "LaunchFileImpl.h"
#include "mxsim/Report.h"

using namespace mx::sim;
using llvm::json::OStream;

static constexpr const char *kOpen = "?";

//===----------------------------------------------------------------------===//
// What is still open
//===----------------------------------------------------------------------===//

static void findOpen(const JsonReader &json, std::vector<JsonReader> &open) {
  if (json.raw().getAsString() == llvm::StringRef(kOpen))
    open.push_back(json);
  if (json.raw().getAsObject())
    for (auto &[name, member] : json.members())
      if (!json.where().empty() || name != "notes")
        findOpen(member, open);
  if (json.raw().getAsArray())
    for (const JsonReader &element : json.elements())
      findOpen(element, open);
}

bool LaunchFile::isFilledIn(const JsonReader &json) {
  std::vector<JsonReader> open;
  findOpen(json, open);
  if (open.empty())
    return true;
  std::string others;
  for (size_t k = 1; k < open.size(); ++k)
    others += (k > 1 ? ", " : "") + open[k].where();
  open.front().fail("expected a value in place of \"?\"" +
                    (others.empty() ? "" : ", also at " + others));
  return false;
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

namespace {

/// A value of the arguments, by what its bytes are used for.
struct Value {
  ParameterUse use;
  uint32_t bytes;
  std::string type;  ///< of a number
  std::string name;  ///< of a buffer or tensor map
  unsigned rank = 0; ///< of a tensor map; 0: not known
};

class Template {
public:
  explicit Template(const KernelInfo &kernel) : kernel(kernel), json(out, 2) {}
  std::string write();

private:
  const KernelInfo &kernel;
  std::string text;
  llvm::raw_string_ostream out{text};
  OStream json;

  std::string nameOf(const ParameterInfo &p) const;
  Value valueOf(const ParameterInfo &p, const ParameterWord &w) const;
  bool isStruct(const ParameterInfo &p) const;
  std::vector<Value> valuesOf(const ParameterInfo &p) const;
  std::string aBuffer() const;
  std::string note(const ParameterInfo &p) const;
  void member(const Value &v);
  void argument(const ParameterInfo &p);
  void shape(const char *key, const std::array<uint32_t, 3> &known);
  void memory();
};

} // namespace

/// Compilers name parameters after the kernel: what follows is enough.
std::string Template::nameOf(const ParameterInfo &p) const {
  std::string prefix = kernel.name + "_";
  return p.name.compare(0, prefix.size(), prefix) == 0 &&
                 p.name.size() > prefix.size()
             ? p.name.substr(prefix.size())
             : p.name;
}

Value Template::valueOf(const ParameterInfo &p, const ParameterWord &w) const {
  std::string type = std::string(w.type);
  // What an instruction of packed floats or of another width takes is bits.
  std::string integer = "i" + std::to_string(8 * w.bytes);
  bool isFloat =
      w.use == ParameterUse::Number &&
      ((w.bytes == 2 && (type == "f16" || type == "bf16")) ||
       (w.bytes == 4 && type == "f32") || (w.bytes == 8 && type == "f64"));
  std::string name = nameOf(p);
  if (isStruct(p))
    name += "_at_" + std::to_string(w.offset);
  return {w.use, w.bytes, isFloat ? type : integer, name, w.rank};
}

/// A parameter that is not one word.
bool Template::isStruct(const ParameterInfo &p) const {
  return p.use != ParameterUse::TensorMap &&
         (p.type.find('[') != std::string::npos || p.bytes > 8);
}

/// Words of vectors of more bytes have no value of their own.
static bool isValue(const ParameterWord &w) {
  return w.bytes <= 8 || w.use == ParameterUse::TensorMap;
}

std::vector<Value> Template::valuesOf(const ParameterInfo &p) const {
  if (p.use == ParameterUse::TensorMap)
    return {
        {p.use, p.bytes, "", nameOf(p), p.words.empty() ? 0 : p.words[0].rank}};
  std::vector<Value> values;
  for (const ParameterWord &w : p.words)
    if (isValue(w))
      values.push_back(valueOf(p, w));
  if (values.empty() && !isStruct(p))
    values.push_back({ParameterUse::Unknown, p.bytes,
                      "i" + std::to_string(8 * p.bytes), nameOf(p)});
  return values;
}

/// The last buffer that is no tensor map's: kernels write to the last ones.
std::string Template::aBuffer() const {
  std::string name = "name";
  for (const ParameterInfo &p : kernel.parameters)
    for (const Value &v : valuesOf(p))
      if (v.use == ParameterUse::Address)
        name = v.name;
  return name;
}

static const char *describe(ParameterUse use) {
  switch (use) {
  case ParameterUse::Address:
    return "used as an address";
  case ParameterUse::TensorMap:
    return "a tensor map";
  case ParameterUse::Number:
    return "a number";
  case ParameterUse::Unknown:
    return "an integer, or never used";
  }
  return "";
}

std::string Template::note(const ParameterInfo &p) const {
  std::string s = nameOf(p) + ": ." + p.type + ", " + std::to_string(p.bytes) +
                  (p.bytes == 1 ? " byte" : " bytes") + " at offset " +
                  std::to_string(p.offset) + ", aligned to " +
                  std::to_string(p.align) + "; ";
  if (!isStruct(p))
    return s + describe(valuesOf(p).front().use);
  if (p.words.empty())
    return s + "no field of it is known: fields are {\"offset\": 0, \"i32\": "
               "1}, {\"offset\": 8, \"buffer\": \"A\"}, ...";
  return s + "its fields are those that the kernel uses";
}

void Template::member(const Value &v) {
  switch (v.use) {
  case ParameterUse::Address:
    return json.attribute("buffer", v.name);
  case ParameterUse::TensorMap:
    return json.attribute("tensor_map", v.name);
  case ParameterUse::Number:
  case ParameterUse::Unknown:
    return json.attribute(v.type, kOpen);
  }
}

void Template::argument(const ParameterInfo &p) {
  std::vector<Value> values = valuesOf(p);
  json.objectBegin();
  if (!isStruct(p)) {
    member(values.front());
  } else {
    json.attributeBegin("struct");
    json.objectBegin();
    json.attribute("size", p.bytes);
    json.attribute("align", p.align);
    json.attributeBegin("fields");
    json.arrayBegin();
    if (values.empty())
      json.value(kOpen);
    size_t k = 0;
    for (const ParameterWord &w : p.words) {
      if (!isValue(w))
        continue;
      json.objectBegin();
      json.attribute("offset", w.offset);
      member(values[k++]);
      json.objectEnd();
    }
    json.arrayEnd();
    json.attributeEnd();
    json.objectEnd();
    json.attributeEnd();
  }
  json.objectEnd();
}

void Template::shape(const char *key, const std::array<uint32_t, 3> &known) {
  json.attributeBegin(key);
  json.arrayBegin();
  if (known[0]) {
    for (uint32_t n : known)
      json.value(n);
  } else {
    json.value(kOpen);
    json.value(1);
    json.value(1);
  }
  json.arrayEnd();
  json.attributeEnd();
}

/// Buffers of what is used as an address, and of tensor maps.
void Template::memory() {
  std::vector<Value> buffers, maps;
  for (const ParameterInfo &p : kernel.parameters)
    for (const Value &v : valuesOf(p)) {
      if (v.use == ParameterUse::Address || v.use == ParameterUse::TensorMap)
        buffers.push_back(v);
      if (v.use == ParameterUse::TensorMap)
        maps.push_back(v);
    }
  json.attributeBegin("buffers");
  json.objectBegin();
  for (const Value &v : buffers) {
    json.attributeBegin(v.name);
    json.objectBegin();
    json.attribute("bytes", kOpen);
    json.attribute("fill", "poison");
    json.objectEnd();
    json.attributeEnd();
  }
  json.objectEnd();
  json.attributeEnd();
  if (maps.empty())
    return;
  json.attributeBegin("tensor_maps");
  json.objectBegin();
  for (const Value &v : maps) {
    json.attributeBegin(v.name);
    json.objectBegin();
    json.attribute("buffer", v.name);
    json.attribute("type", kOpen);
    unsigned rank = std::max(v.rank, 1u);
    // The innermost dimension has no stride.
    for (auto [key, count] : {std::pair("dims", rank),
                              std::pair("strides", v.rank ? rank - 1 : rank),
                              std::pair("box", rank)}) {
      json.attributeBegin(key);
      json.arrayBegin();
      for (unsigned k = 0; k < count; ++k)
        json.value(kOpen);
      json.arrayEnd();
      json.attributeEnd();
    }
    json.attribute("swizzle", kOpen);
    json.objectEnd();
    json.attributeEnd();
  }
  json.objectEnd();
  json.attributeEnd();
}

std::string Template::write() {
  json.objectBegin();
  json.attributeBegin("notes");
  json.arrayBegin();
  json.value(demangled(kernel.name));
  json.value("Put a value in place of each \"?\". A buffer may have {\"file\": "
             "\"a.npy\"} in place of bytes and fill. What a parameter is used "
             "for is a guess from the instructions.");
  json.value("outputs: the buffers to write when the run has ended, such as "
             "{\"" +
             aBuffer() +
             "\": {\"file\": \"out.npy\", \"dtype\": "
             "\"f32\", \"shape\": [128, 32]}}");
  for (const ParameterInfo &p : kernel.parameters)
    json.value(note(p));
  if (kernel.maximumBlock[0])
    json.value("block: at most " + std::to_string(kernel.maximumBlock[0]) +
               "x" + std::to_string(kernel.maximumBlock[1]) + "x" +
               std::to_string(kernel.maximumBlock[2]) + " (.maxntid)");
  if (kernel.usesDynamicShared)
    json.value("dynamic_smem: the module names shared memory whose size the "
               "launch gives");
  json.arrayEnd();
  json.attributeEnd();
  json.attribute("kernel", kernel.name);
  shape("grid", {});
  shape("block", kernel.requiredBlock);
  if (kernel.requiredCluster[0])
    shape("cluster", kernel.requiredCluster);
  if (kernel.usesDynamicShared)
    json.attribute("dynamic_smem", kOpen);
  memory();
  json.attributeBegin("args");
  json.arrayBegin();
  for (const ParameterInfo &p : kernel.parameters)
    argument(p);
  json.arrayEnd();
  json.attributeEnd();
  json.attributeBegin("outputs");
  json.objectBegin();
  json.objectEnd();
  json.attributeEnd();
  json.objectEnd();
  return text + "\n";
}

std::string mx::sim::launchTemplate(const KernelInfo &kernel) {
  return Template(kernel).write();
}
