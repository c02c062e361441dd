// What may attend to what, by name. Each pattern is one expression of the language: read library/patterns to see what
// it means, and write your own the same way. Patterns and lambdas compose with & | ~:
//
//   Mask chat = causal & documents(ids);
//   Mask sink = sinks(4) | window(1023, 0);
//
// Positions are raw indices, 0 for the first query and the first key. Where queries and keys differ in number, `Align`
// says which query is next to which key. A pattern that is made for some number of tokens, as over a grid, refuses
// calls of other lengths. Keys that do not exist at all (padding) are no pattern: give key_lengths at the call, and
// nothing that memory holds there can reach a result.
#pragma once

#include <tessera/dsl/lang/grid.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/param.h>
#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/align.h>
#include <tessera/library/patterns/basic.h>
#include <tessera/library/patterns/blocks.h>
#include <tessera/library/patterns/compose.h>
#include <tessera/library/patterns/images.h>
#include <tessera/library/patterns/neighborhood.h>
#include <tessera/library/patterns/packed.h>
#include <tessera/library/patterns/strided.h>
#include <tessera/library/patterns/video.h>
