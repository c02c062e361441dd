// expect: a Tile has no default value: give every field of the struct one
#include "program.h"

State wrong() { return State{-inf}; }
