#include <tessera/library/program_launch.h>

#include <algorithm>

#include <tessera/library/call_arguments.h>
#include <tessera/library/check_call.h>
#include <tessera/library/view_rules.h>

namespace tessera::library {

namespace {

bool same_form(const ir::Argument& a, const ir::Argument& b) {
  const View *x = std::get_if<View>(&a), *y = std::get_if<View>(&b);
  if (!x || !y) return !x && !y;
  return x->dtype == y->dtype && x->memory == y->memory && x->shape == y->shape && x->strides == y->strides;
}

}  // namespace

const View* first_view(const std::vector<ir::Argument>& arguments) {
  for (const ir::Argument& argument : arguments) {
    if (const View* view = std::get_if<View>(&argument)) return view;
  }
  return nullptr;
}

ProgramLaunch::ProgramLaunch(std::shared_ptr<const Planned> planned, std::shared_ptr<const Built> built,
                             const runtime::Device& device, const ir::Binding& binding, std::vector<ir::Argument> given)
    : planned_(std::move(planned)),
      built_(std::move(built)),
      device_(device),
      function_(built_->program.on(device)),
      given_(std::move(given)),
      image_(built_->artifact, planned_->only().tiled, binding, device.zeros()) {}

bool ProgramLaunch::reads(const View& view) const {
  const View* first = first_view(given_);
  return first && first->data == view.data;
}

bool ProgramLaunch::serves(const std::vector<ir::Argument>& arguments) const {
  if (!std::equal(arguments.begin(), arguments.end(), given_.begin(), given_.end(), same_form)) return false;
  bool moved = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const View* view = std::get_if<View>(&arguments[i]);
    if (!view && !is_scalar_value(planned_->only().tiled.params[i].dtype, std::get<double>(arguments[i]))) return false;
    if (!view || image_.holds(static_cast<int>(i), view->data)) continue;
    if (!is_addressable(*view, true)) return false;
    moved = true;
  }
  return !moved || !find_overlap(planned_->only().tiled, arguments);
}

void ProgramLaunch::launch(const std::vector<ir::Argument>& arguments, void* stream) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const int param = static_cast<int>(i);
    if (const View* view = std::get_if<View>(&arguments[i])) {
      if (!image_.holds(param, view->data)) image_.set_pointer(param, view->data);
      std::get<View>(given_[i]).data = view->data;
    } else {
      image_.set_scalar(param, std::get<double>(arguments[i]));
    }
  }
  image_.launch(function_, static_cast<runtime::cu::Stream>(stream));
}

}  // namespace tessera::library
