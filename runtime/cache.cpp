#include <tessera/runtime/cache.h>

#include <tessera/runtime/environment.h>

namespace tessera::runtime {

CacheOptions CacheOptions::from_environment() {
  CacheOptions options;
  if (auto directory = cache_directory()) {
    options.directory = *directory;
  } else {
    options.why_memory_only =
        "compiled kernels are kept in memory only: neither TESSERA_CACHE_DIR, XDG_CACHE_HOME nor HOME is set";
  }
  if (auto limit = cache_limit()) options.disk_bytes = *limit;
  return options;
}

Cache::Cache(CacheOptions options)
    : disk_(std::move(options.directory), options.disk_bytes, std::move(options.why_memory_only)),
      memory_limit_(options.memory_bytes) {}

Cache::Statistics Cache::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

Cache::Blob Cache::lookup(const Hash& key) {
  auto found = memory_.find(key);
  if (found == memory_.end()) return nullptr;
  ages_.splice(ages_.begin(), ages_, found->second.age);
  ++statistics_.memory_hits;
  return found->second.blob;
}

void Cache::keep(const Hash& key, const Blob& blob) {
  if (memory_.count(key) != 0) return;
  ages_.push_front(key);
  memory_.emplace(key, Entry{blob, ages_.begin()});
  memory_used_ += static_cast<std::int64_t>(blob->size());
  while (memory_used_ > memory_limit_ && ages_.size() > 1) {
    auto oldest = memory_.find(ages_.back());
    memory_used_ -= static_cast<std::int64_t>(oldest->second.blob->size());
    memory_.erase(oldest);
    ages_.pop_back();
  }
}

Cache::Blob Cache::find(const Hash& key) {
  {
    std::lock_guard lock(mutex_);
    if (Blob blob = lookup(key)) return blob;
  }
  auto bytes = disk_.read(key);
  if (!bytes) return nullptr;
  Blob blob = std::make_shared<const std::string>(std::move(*bytes));
  std::lock_guard lock(mutex_);
  ++statistics_.disk_hits;
  keep(key, blob);
  return blob;
}

Cache::Blob Cache::get_or_make(const Hash& key, const std::function<std::string()>& make) {
  std::promise<Blob> promise;
  std::shared_future<Blob> other;
  {
    std::lock_guard lock(mutex_);
    if (Blob blob = lookup(key)) return blob;
    auto [place, first] = in_flight_.try_emplace(key);
    if (first) {
      place->second = promise.get_future().share();
    } else {
      other = place->second;
    }
  }
  if (other.valid()) return other.get();
  try {
    Blob blob = load_or_make(key, make);
    {
      std::lock_guard lock(mutex_);
      keep(key, blob);
      in_flight_.erase(key);
    }
    promise.set_value(blob);
    return blob;
  } catch (...) {
    {
      std::lock_guard lock(mutex_);
      in_flight_.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

Cache::Blob Cache::load_or_make(const Hash& key, const std::function<std::string()>& make) {
  if (auto bytes = disk_.read(key)) {
    std::lock_guard lock(mutex_);
    ++statistics_.disk_hits;
    return std::make_shared<const std::string>(std::move(*bytes));
  }
  auto blob = std::make_shared<const std::string>(make());
  disk_.write(key, *blob);
  std::lock_guard lock(mutex_);
  ++statistics_.made;
  return blob;
}

}  // namespace tessera::runtime
