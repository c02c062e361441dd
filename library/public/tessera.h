// <tessera/tessera.h>: everything a user's program needs. <tessera/attention.h> is the part for those who write no
// kernels.
#pragma once

#include <tessera/attention.h>
#include <tessera/dsl/lang/lang.h>
#include <tessera/library/acsr/acsr_attention.h>
#include <tessera/library/forward.h>
#include <tessera/library/program.h>
#include <tessera/library/safetensors.h>
