// A pipeline: an immutable graph of operators, checked and typed as it is made. Every
// prefix of it is a pipeline too, with a spec, a cardinality and a fingerprint. A
// handle: cheap to copy, safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/sha256.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// More operators than this are refused.
inline constexpr int64_t kNodesMax = 2'000;

class Pipeline {
 public:
  // Puts an operator after its inputs. Checks names, arguments and types; the error
  // names the operator. Sources and random operators get `call_number`, or the next
  // free one.
  static absl::StatusOr<Pipeline> Make(const Catalog& catalog, std::string_view name,
                                       const Arguments& arguments,
                                       std::vector<Pipeline> inputs,
                                       int64_t call_number = kNoCallNumber);

  const OperatorSchema& schema() const { return *node_->schema; }

  const std::string& name() const { return node_->schema->name; }

  const Arguments& arguments() const { return node_->arguments; }

  absl::Span<const Pipeline> inputs() const { return node_->inputs; }

  // What identities and draws of this operator are keyed by; kNoCallNumber for others.
  int64_t call_number() const { return node_->call_number; }

  // What the rows look like, and how many there are.
  const core::Spec& spec() const { return node_->spec; }

  // The rows that its functions are called on. Requires: it has inputs.
  absl::StatusOr<core::Spec> FunctionInput() const;

  const Cardinality& cardinality() const { return node_->cardinality; }

  // Names the results: equal wherever the same rows come out, whatever the nodes are
  // called, and whatever seeds are set that nothing draws from.
  const base::Sha256& fingerprint() const { return node_->fingerprint; }

  // Names the call numbers of its sources, which row identities and so draws depend on.
  const base::Sha256& source_numbers() const { return node_->source_numbers; }

  // Whether anything in it draws random numbers.
  bool IsRandom() const { return node_->random; }

  // One more than the largest call number in it.
  int64_t NextCallNumber() const { return node_->next_call_number; }

  // All operators, each once, inputs before their readers: the order of the text form.
  std::vector<Pipeline> Nodes() const;

  // Whether two handles are the same node; equal content is equal fingerprints.
  friend bool operator==(const Pipeline& a, const Pipeline& b) {
    return a.node_ == b.node_;
  }

 private:
  struct Node {
    const OperatorSchema* schema;
    Arguments arguments;
    std::vector<Pipeline> inputs;
    int64_t call_number;
    core::Spec spec;
    Cardinality cardinality;
    bool random;
    int64_t next_call_number;
    int64_t nodes;  // At least as many as there are; exact where that matters.
    base::Sha256 fingerprint;
    base::Sha256 source_numbers;
  };

  explicit Pipeline(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  static absl::StatusOr<Pipeline> Put(const OperatorSchema& schema,
                                      const Arguments& arguments,
                                      std::vector<Pipeline> inputs,
                                      int64_t call_number);
  static std::vector<Pipeline> NodesOf(absl::Span<const Pipeline> roots);
  static absl::StatusOr<int64_t> CountWith(absl::Span<const Pipeline> inputs);

  std::shared_ptr<const Node> node_;
};

// The fingerprint without the size of the last batching operator: which rows there are,
// not how they are grouped. States are compared by it.
base::Sha256 RowFingerprint(const Pipeline& pipeline);

}  // namespace millrace::ir
