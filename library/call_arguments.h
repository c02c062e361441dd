// From a call to the arguments of its kernel: tensors, scalars, and tables wherever they have to lie.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <tessera/library/planned.h>
#include <tessera/runtime/memory.h>

namespace tessera::library {

// Names that calls may give values for. UserErrors for a name nobody reads or that is given twice, for a value that its
// Param does not hold, and for a table that is missing, has another rank than it is read with, or lies in another
// memory than the tensors.
void check_names(const std::vector<const mask::Pointwise*>& functions, const AttentionCall& call, SourceLoc loc);

// The tables of `function` as this call has them; tables that only a call can give have no shape where there is no
// call.
std::vector<std::vector<std::int64_t>> table_shapes(const mask::Pointwise& function, const AttentionCall* call);

using PlaceTable = std::function<View(const std::shared_ptr<const mask::TableData>&)>;
std::vector<ir::Argument> call_arguments(const PlannedKernel& kernel, const AttentionCall& call, double scale,
                                         const View& key_lengths, const PlaceTable& place);

// The view of an LSE as kernels write it, of this call, at `data`.
View lse_view(const AttentionCall& call, void* data);

bool is_scalar_value(DType dtype, double value);  // i32: a whole number of 32 bits
bool is_param_value(DType dtype, double value);   // of a Param: and f32 is finite
double scalar_of(const ParameterSource& source, const AttentionCall& call);
const View& tensor_of(const ParameterSource& source,
                      const AttentionCall& call);  // of a kind that is a tensor or named table

View host_view(const std::shared_ptr<const mask::TableData>& table);

// Tables on devices, uploaded once however many plans read them, for as long as somebody holds the buffer. Thread-safe.
class TableStore {
 public:
  using Buffer = std::shared_ptr<const runtime::DeviceBuffer>;
  Buffer upload(const std::shared_ptr<const mask::TableData>& table, const runtime::Device& device);

 private:
  struct Entry {
    std::weak_ptr<const mask::TableData> table;  // an address may be used again for another table
    std::weak_ptr<const runtime::DeviceBuffer> buffer;
  };
  std::mutex mutex_;
  std::map<std::pair<int, const mask::TableData*>, Entry> entries_;
};

}  // namespace tessera::library
