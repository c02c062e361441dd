// The only reader of environment variables in the runtime. An empty variable counts as unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

// Every variable we read.
namespace variable {
inline constexpr const char* cache_dir = "TESSERA_CACHE_DIR";              // directory of the kernel cache
inline constexpr const char* cache_megabytes = "TESSERA_CACHE_MEGABYTES";  // its size cap
inline constexpr const char* ptxas = "TESSERA_PTXAS";                      // path of ptxas; "none" to use the driver
inline constexpr const char* cuda_driver = "TESSERA_CUDA_DRIVER";          // path of libcuda
inline constexpr const char* xdg_cache_home = "XDG_CACHE_HOME";
inline constexpr const char* home = "HOME";
inline constexpr const char* path = "PATH";
inline constexpr const char* cuda_home = "CUDA_HOME";
inline constexpr const char* tmpdir = "TMPDIR";
}  // namespace variable

std::optional<std::string> environment(const char* name);

// TESSERA_CACHE_DIR as it is, else $XDG_CACHE_HOME/tessera where that is absolute (the XDG convention ignores relative
// ones), else $HOME/.cache/tessera. Nothing if none is set.
std::optional<std::string> cache_directory();

// TESSERA_CACHE_MEGABYTES in bytes; nothing if it is unset or no positive number.
std::optional<std::int64_t> cache_limit();

// Where a program named `ptxas` is looked for, in order: every directory of PATH, $CUDA_HOME/bin, /usr/local/cuda/bin.
std::vector<std::string> program_directories();

// Where temporary files go: $TMPDIR, else /tmp.
std::string temporary_directory();

}  // namespace tessera::runtime
