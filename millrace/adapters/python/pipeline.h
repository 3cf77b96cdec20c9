// Pipelines as Python builds them: a graph of operators, each checked and typed as it
// is put in; functions recorded term by term. Handles; safe to share between threads,
// but for a Tracer, which belongs to one. What is wrong is thrown as Error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/adapters/python/plain.h"

namespace millrace::ir {
class Attachment;
class Expression;
class Pipeline;
}  // namespace millrace::ir

namespace millrace::python {

// Has operators that call Python functions among those of this process. Whatever else
// needs them here does this by itself.
void AddPythonOperators();

// All operators and kernels as JSON (api/catalog.h).
std::string CatalogJson();

// Bytes that travel beside a pipeline, named by their content.
class Attachment {
 public:
  explicit Attachment(std::string content);

  explicit Attachment(std::shared_ptr<const ir::Attachment> inner)
      : inner_(std::move(inner)) {}

  // Makes one of a value; numbers are copied once.
  static Attachment Of(const Plain& value);

  std::string_view content() const;

  std::string Hash() const;

  const ir::Attachment& inner() const { return *inner_; }

 private:
  std::shared_ptr<const ir::Attachment> inner_;
};

// Rows in memory, by field, as the source from_rows takes them.
struct PackedRows {
  std::vector<std::string> names;
  std::vector<Attachment> values;
  std::vector<Attachment> shapes;
};

// Packs rows of the same fields. What does not fit the first row is named.
PackedRows PackRows(
    const std::vector<std::vector<std::pair<std::string, Plain>>>& rows);

// A row function as data.
class Function {
 public:
  explicit Function(std::shared_ptr<const ir::Expression> inner)
      : inner_(std::move(inner)) {}

  std::string Text() const;

  const std::shared_ptr<const ir::Expression>& inner() const { return inner_; }

 private:
  std::shared_ptr<const ir::Expression> inner_;
};

// How many rows there are; -1 where they never end. Where that is not known, why.
struct CountedRows {
  std::optional<int64_t> rows;
  std::string why_unknown;
};

class Pipeline {
 public:
  explicit Pipeline(const ir::Pipeline& inner);

  // Puts an operator after its inputs, which may have been built apart. One that makes
  // random calls of its own reserves numbers for them.
  static Pipeline Make(const std::string& name, const NamedArguments& arguments,
                       const std::vector<Pipeline>& inputs, int64_t reserved = 0);
  static Pipeline Parse(const std::string& text,
                        const std::vector<Attachment>& attachments);

  std::string Operator() const;
  std::vector<Pipeline> Inputs() const;
  std::string Text() const;
  std::string Shown() const;  // For people.
  std::vector<Attachment> Attachments() const;
  std::vector<FieldType> Fields() const;
  std::optional<int64_t> Rows() const;  // -1 where they never end.
  CountedRows Count() const;            // As Rows, and lists files where that tells.
  std::string Fingerprint() const;
  std::string RowFingerprint() const;  // The same, less the size of its last batch.
  bool IsRandom() const;
  bool Batches() const;

  // What it is, how it will run, and why. Lists the files it reads.
  std::string Explain() const;

  const ir::Pipeline& inner() const { return *inner_; }

 private:
  std::shared_ptr<const ir::Pipeline> inner_;
};

// Records a row function, term by term; a term is a number.
class Tracer {
 public:
  // The operator and what is known of its arguments say which rows the function sees.
  Tracer(const std::string& name, const NamedArguments& arguments,
         const std::vector<Pipeline>& inputs);
  ~Tracer();

  std::vector<FieldType> Fields() const;
  int64_t Field(const std::string& name);
  int64_t Literal(const Plain& value, bool weak);
  int64_t Call(const std::string& kernel, const std::vector<int64_t>& operands,
               const NamedArguments& arguments);
  FieldType TypeOf(int64_t term) const;

  // Gives the function. One result without a name makes one value, no row.
  Function Build(const std::vector<std::pair<std::string, int64_t>>& results);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::python
