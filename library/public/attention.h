// <tessera/attention.h>: attention under a mask. Patterns, scores, merging of partial results, and the Attention
// itself.
#pragma once

#include <tessera/library/attention.h>
#include <tessera/library/merge.h>
