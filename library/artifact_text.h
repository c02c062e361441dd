// An Artifact as bytes and back: what the disk cache keeps beside the machine code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tessera/backend/artifact.h>

namespace tessera::library {

std::string serialise(const backend::Artifact& artifact);
std::optional<backend::Artifact> parse_artifact(std::string_view bytes);  // nothing for what `serialise` did not make

}  // namespace tessera::library
