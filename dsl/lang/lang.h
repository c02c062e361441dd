// The whole language: what a file with a kernel in it includes.
#pragma once

#include <tessera/dsl/lang/arguments.h>
#include <tessera/dsl/lang/control.h>
#include <tessera/dsl/lang/grid.h>
#include <tessera/dsl/lang/kernel.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/math.h>
#include <tessera/dsl/lang/memory.h>
#include <tessera/dsl/lang/param.h>
#include <tessera/dsl/lang/position.h>
#include <tessera/dsl/lang/score.h>
#include <tessera/dsl/lang/table.h>
